// Package ui holds what every page is made of: the layout, forms, tables, selections, states, icons, times, and the few
// parts that pages of several features show, such as rows of deliveries and the data of an event.
//
// A component gets plain view structs and knows nothing else of the product and no feature. It writes no inline script,
// no inline style and no event attribute, so pages work under a strict Content-Security-Policy and without JavaScript;
// class names follow the NL Design System. It does not check what it is given: handlers hand it text to show, never
// markup, and addresses that are no path of ours or https are left out.
package ui
