package main

func amqpValidation() []Rule {
	return []Rule{
		{ID: "AMQP-98", Level: must, Text: "The sender makes the checks of the receiver before it sends"},
		{ID: "AMQP-99", Level: must, Text: "Required fields and values"},
		{ID: "AMQP-100", Level: must, Text: "The process is supported"},
		{ID: "AMQP-101", Level: must, Text: "It can be decrypted"},
		{ID: "AMQP-102", Level: must, Text: "The sender's certificate has not expired"},
		{ID: "AMQP-103", Level: must, Text: "The sender's certificate is not revoked"},
		{ID: "AMQP-104", Level: must, Text: "The signature verifies"},
		{ID: "AMQP-105", Level: must, Text: "A messageId that was read before is logged and dropped"},
		{ID: "AMQP-106", Level: must, Text: "The header of the business message can be read"},
		{ID: "AMQP-107", Level: must, Text: "The replyTo queue is there"},
		{ID: "AMQP-108", Level: must, Text: "The sender is the same outside and inside"},
		{ID: "AMQP-109", Level: must, Text: "So is the receiver, else AppRec E10"},
		{ID: "AMQP-110", Level: must, Text: "The XML can be read, else AppRec T01"},
		{ID: "AMQP-111", Level: must, Text: "It is valid by its schema, else AppRec T02"},
		{ID: "AMQP-112", Level: must, Text: "Required values are there, else AppRec T02"},
	}
}

func amqpErrors() []Rule {
	return []Rule{
		{ID: "AMQP-113", Level: must, Text: "After a negative AppRec the same message is not sent again"},
		{ID: "AMQP-114", Level: must, Text: "An AppRec that cannot be sent is tried again"},
		{ID: "AMQP-115", Level: must, Text: "So is a message"},
		{ID: "AMQP-116", Level: must, Text: "A business message that came twice is handled once and gets one AppRec"},
		{ID: "AMQP-117", Level: should, Text: "When an AppRec is overdue is set for each counterpart"},
		{ID: "AMQP-118", Level: should, Text: "An identical message is sent again once at most"},
		{ID: "AMQP-119", Level: must, Text: "After an error: new messageId, the same MsgId"},
		{ID: "AMQP-120", Level: must, Text: "After a negative AppRec: both new"},
		{ID: "AMQP-121", Level: must, Text: "Never on the queue: both the same"},
		{ID: "AMQP-122", Level: must, Text: "Nothing is sent again by itself after 96 hours"},
		{ID: "AMQP-123", Level: must, Text: "A message stays on the queue until its AppRec is kept or sent (INC-10)"},
		{ID: "AMQP-124", Level: must, Text: "Messages never time out on the async queue"},
		{ID: "AMQP-125", Level: must, Text: "An error message has no business document"},
		{ID: "AMQP-126", Level: must, Text: "An error message has a messageId of its own"},
		{ID: "AMQP-127", Level: must, Text: "transport:invalid-cms-pkcs"},
		{ID: "AMQP-128", Level: must, Text: "transport:invalid-certificate, with thumbprints"},
		{ID: "AMQP-129", Level: must, Text: "transport:expired-certificate, with thumbprints"},
		{ID: "AMQP-130", Level: must, Text: "transport:revoked-certificate, with thumbprints"},
		{ID: "AMQP-131", Level: must, Text: "transport:decryption-failed, with thumbprints"},
		{ID: "AMQP-132", Level: must, Text: "transport:invalid-signature, with thumbprints"},
		{ID: "AMQP-133", Level: must, Text: "transport:required-field-missing, with the fields"},
		{ID: "AMQP-134", Level: must, Text: "transport:invalid-field-value, with the fields"},
		{ID: "AMQP-135", Level: must, Text: "transport:invalid-encoding, with the character set"},
		{ID: "AMQP-136", Level: must, Text: "abuse:spoofing-attack, with both HER-ids"},
		{ID: "AMQP-137", Level: must, Text: "transport:xml-not-interpretable, or as INC-01 reads it"},
		{ID: "AMQP-138", Level: should, Text: "A message that is read again gets no second answer"},
		{ID: "AMQP-139", Level: own, Text: "An answer has the same messageId however often it is sent"},
		{ID: "AMQP-140", Level: own, Text: "We read liberally"},
	}
}

// amqpReadings gives our reading of the profile where it contradicts itself or is silent.
func amqpReadings() []Rule {
	return []Rule{
		{ID: "INC-01", Level: corrected, Text: "An unreadable header is not-well-formed-xml; the other code by setting, both are read"},
		{ID: "INC-02", Level: corrected, Text: "revoked-certificate is spelled right; both spellings are read"},
		{ID: "INC-03", Level: corrected, Text: "unsupported-message has a text of ours"},
		{ID: "INC-04", Level: corrected, Text: "A missing field is invalid-field-value; required-field-missing by setting"},
		{ID: "INC-05", Level: corrected, Text: "Codes without a row of their own are used as section 2.2.6 says"},
		{ID: "INC-06", Level: corrected, Text: "Ten tries, then the dead-letter queue"},
		{ID: "INC-07", Level: corrected, Text: "Requests go to the sync queue"},
		{ID: "INC-08", Level: corrected, Text: "Nothing is sent again by itself; a person may, once"},
		{ID: "INC-09", Level: corrected, Text: "A negative AppRec settles too"},
		{ID: "INC-10", Level: corrected, Text: "Message and AppRec are kept together, then the AppRec is sent, then it is settled"},
		{ID: "INC-11", Level: corrected, Text: "Data of errors is JSON; anything is read"},
		{ID: "INC-12", Level: corrected, Text: "Texts are the literal ones"},
		{ID: "INC-13", Level: editorial, Text: "messageId is a property", Reason: "a wrong label in the text"},
		{ID: "INC-14", Level: corrected, Text: "An error message has one empty Data section"},
		{ID: "INC-15", Level: corrected, Text: "An error message has no contentType, and none is asked"},
		{ID: "INC-16", Level: corrected, Text: "An error message has replyTo and correlationId; neither is asked"},
		{ID: "INC-17", Level: editorial, Text: "The error queue is for the situations of section 2.2", Reason: "a swallowed heading; AMQP-80 holds"},
		{ID: "INC-18", Level: corrected, Text: "The error queue is that of the sender, by the registry"},
		{ID: "INC-19", Level: corrected, Text: "Another sender inside is spoofing, another receiver E10"},
		{ID: "INC-20", Level: corrected, Text: "smime-type is written literally and compared without case and space"},
		{ID: "INC-21", Level: corrected, Text: "Key encipherment is taken for data encipherment, with a warning"},
		{ID: "INC-22", Level: corrected, Text: "Asynchronous messages are sent without a ttl"},
		{ID: "INC-23", Level: corrected, Text: "A lost AppRec is sent once more by a person"},
		{ID: "INC-24", Level: corrected, Text: "OCSP first, then the revocation list"},
		{ID: "INC-25", Level: corrected, Text: "Names are written exactly and read in any case"},
		{ID: "INC-26", Level: corrected, Text: "to and replyTo are the bare queue; as registered by setting, both are read"},
		{ID: "INC-27", Level: corrected, Text: "Dead letters go back to the queue in to"},
		{ID: "INC-28", Level: corrected, Text: "The broker is a dialect"},
	}
}
