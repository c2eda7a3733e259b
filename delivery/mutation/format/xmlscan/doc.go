// Package xmlscan reads XML as a stream of tokens whose bytes are left as they came.
//
// It exists beside encoding/xml for three reasons: a payload has to leave as it came, byte for byte, with only the namespace
// declarations around it known; every size has a bound; and deliveries of many gigabytes have to be read at the speed of a
// disk. registry/xmlscan, which reads small documents for their values, holds one in memory whole and rests on encoding/xml, so
// it gives no bytes back as they came and is too small for such deliveries. This package takes UTF-8 only. It refuses document
// type declarations, and with them every entity but the five of XML itself (MUT-30). Names and namespaces are checked as XML
// 1.0 and its namespaces ask.
package xmlscan
