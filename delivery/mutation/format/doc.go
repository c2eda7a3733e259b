// Package format reads and writes files of the mutation delivery format, a group at a time.
//
// A file belongs to a delivery of a dataset and holds groups of mutations. A mutation is on a version of an object: it
// adds one (a WORDT), changes one (a WAS and a WORDT) or deletes one (a WAS); see MUT-05. Nothing here knows what is
// in the objects: their XML passes byte for byte (MUT-25), with the namespaces that were declared around it, so that
// it can be cut out and stand alone.
//
// Reading takes namespace 1.0 and 2.0, writing gives 2.0 (MUT-60). Memory does not grow with the file. The package
// xmlscan underneath refuses entities and bounds every size (MUT-30); lint finds what neither it nor the schema can.
package format
