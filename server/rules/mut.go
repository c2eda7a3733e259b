package main

// mutRules are the rules of the mutation delivery format of PDOK, with what we add where it is silent.
func mutRules() []Rule {
	return append(append(mutMutations(), mutFiles()...), append(mutDelivery(), append(mutAreas(), mutDownloads()...)...)...)
}

func mutMutations() []Rule {
	return []Rule{
		{ID: "MUT-01", Level: must, Text: "An outside party keeps an exact copy"},
		{ID: "MUT-02", Level: must, Text: "An object has versions; the source decides when they begin and end"},
		{ID: "MUT-03", Level: must, Text: "Mutations are on versions, not on objects"},
		{ID: "MUT-04", Level: must, Text: "Processing needs no knowledge of the history model"},
		{ID: "MUT-05", Level: must, Text: "WORDT adds, WAS and WORDT change, WAS deletes"},
		{ID: "MUT-06", Level: must, Text: "The worked examples of three registers hold"},
		{ID: "MUT-07", Level: info, Text: "Deletes are handled, though some registers deliver none"},
		{ID: "MUT-10", Level: must, Text: "Every WORDT has an id of its own"},
		{ID: "MUT-11", Level: must, Text: "Also when a change is exactly undone"},
		{ID: "MUT-12", Level: must, Text: "A WAS refers to the id of an earlier WORDT"},
		{ID: "MUT-13", Level: must, Text: "An id is dead after its WAS"},
		{ID: "MUT-14", Level: may, Text: "A consumer may keep some fields and the id"},
		{ID: "MUT-15", Level: may, Text: "A consumer may match a WAS on all fields"},
		{ID: "MUT-16", Level: may, Text: "A consumer may match a WAS on fields that identify it"},
		{ID: "MUT-17", Level: may, Text: "A consumer may compare the fields of a WAS with its copy"},
		{ID: "MUT-18", Level: mustNot, Text: "Ids are no part of what a consumer shows"},
		{ID: "MUT-19", Level: own, Text: "Ids are any text, or absent"},
	}
}

func mutFiles() []Rule {
	return []Rule{
		{ID: "MUT-20", Level: must, Text: "Some thousand mutations a file, of mixed types"},
		{ID: "MUT-21", Level: must, Text: "The header says to which delivery a file belongs"},
		{ID: "MUT-22", Level: must, Text: "A group is processed in one go"},
		{ID: "MUT-23", Level: must, Text: "A mutation names the type and the id of its object, or its payload does"},
		{ID: "MUT-24", Level: must, Text: "What is written is valid by the schema"},
		{ID: "MUT-25", Level: must, Text: "Objects are in the original XML of their source"},
		{ID: "MUT-26", Level: must, Text: "A WAS never refers to a state that arises later"},
		{ID: "MUT-27", Level: must, Text: "Order of names is order in the zip is order of processing"},
		{ID: "MUT-28", Level: must, Text: "A zip is processed and written as a stream"},
		{ID: "MUT-29", Level: must, Text: "Of what is cut off, whole groups are applied, and the next run goes on"},
		{ID: "MUT-30", Level: must, Text: "No entities, no bombs, every size has a bound"},
	}
}

func mutDelivery() []Rule {
	return []Rule{
		{ID: "MUT-31", Level: must, Text: "The initial state has the same format"},
		{ID: "MUT-32", Level: must, Text: "It holds all versions, ended ones too"},
		{ID: "MUT-33", Level: must, Text: "Changes stay for 31 days; later they are gone, and that is said"},
		{ID: "MUT-34", Level: must, Text: "An initial state tells which delta it includes"},
		{ID: "MUT-35", Level: must, Text: "Deltas are listed oldest first; a gap is seen"},
		{ID: "MUT-36", Level: should, Text: "Applying a delivery again is harmless"},
		{ID: "MUT-37", Level: should, Text: "Progress is in the transaction of the data"},
		{ID: "MUT-38", Level: must, Text: "A replaced history is told"},
	}
}

func mutAreas() []Rule {
	return []Rule{
		{ID: "MUT-40", Level: must, Text: "A consumer gets the mutations of an area of its own"},
		{ID: "MUT-41", Level: must, Text: "The boundary that is used can be fetched"},
		{ID: "MUT-42", Level: must, Text: "It gets all mutations whose WAS or WORDT lies in the area"},
		{ID: "MUT-43", Level: must, Text: "They are whole and bear no mark"},
		{ID: "MUT-44", Level: must, Text: "What enters is tracked as new"},
		{ID: "MUT-45", Level: must, Text: "What leaves is tracked no more; an unknown WAS is an error without an area"},
		{ID: "MUT-46", Level: info, Text: "What comes back can be told from what is new"},
		{ID: "MUT-47", Level: must, Text: "What is left of a group is one group"},
		{ID: "MUT-48", Level: info, Text: "Our filter is exact; what others send too much is cut off"},
		{ID: "MUT-49", Level: own, Text: "Another area is another lineage"},
	}
}

func mutDownloads() []Rule {
	return []Rule{
		{ID: "MUT-50", Level: should, Text: "Datasets and deltas are listed as PDOK does"},
		{ID: "MUT-51", Level: should, Text: "A download of one's own is asked for as with PDOK"},
		{ID: "MUT-52", Level: should, Text: "Its status is as with PDOK"},
		{ID: "MUT-53", Level: should, Text: "Predefined downloads are where PDOK has them"},
		{ID: "MUT-54", Level: info, Text: "Size does not matter"},
		{ID: "MUT-55", Level: info, Text: "Nothing relies on one type a file or one mutation a group"},
		{ID: "MUT-60", Level: own, Text: "Namespaces 1.0 and 2.0 are read, 2.0 is written"},
		{ID: "MUT-61", Level: own, Text: "Headers that differ from the schema are read"},
		{ID: "MUT-62", Level: own, Text: "A dataset of one's own gets a schema"},
		{ID: "MUT-63", Level: own, Text: "Known faulty samples are judged as what they are"},
		{ID: "MUT-64", Level: own, Text: "What no schema can see is found"},
		{ID: "MUT-65", Level: own, Text: "A manifest says what the format has no place for"},
	}
}
