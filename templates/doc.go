// Package templates holds the look of the portal: the layout, the parts that
// all pages are made of, and the pages themselves, written in templ.
//
// A component gets plain view structs and knows nothing else of the product.
// Every page works without JavaScript and under a strict
// Content-Security-Policy: no component writes an inline script, an inline
// style or an event attribute. Class names follow the NL Design System.
package templates
