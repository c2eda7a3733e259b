package main

// amqpRules are the rules of the AMQP profile of helsenorge.no, and how we read it where it contradicts itself.
func amqpRules() []Rule {
	return append(append(amqpTransport(), amqpAttributes()...), append(append(amqpQueues(), amqpCertificates()...), append(amqpProcesses(), append(amqpValidation(), amqpErrors()...)...)...)...)
}

func amqpTransport() []Rule {
	return []Rule{
		{ID: "AMQP-01", Level: must, Text: "AMQP 1.0 is spoken as the profile says"},
		{ID: "AMQP-02", Level: must, Text: "The bare message is the same from sender to receiver, also when it is put back"},
		{ID: "AMQP-03", Level: must, Text: "Application properties are strings"},
		{ID: "AMQP-04", Level: must, Text: "Delivery annotations are not used"},
		{ID: "AMQP-05", Level: must, Text: "No ebMS envelope"},
		{ID: "AMQP-06", Level: must, Text: "Nothing is written to a queue that is not there"},
		{ID: "AMQP-07", Level: must, Text: "Only the outcome accepted counts as written"},
		{ID: "AMQP-08", Level: must, Text: "A send fails while the queue is away"},
		{ID: "AMQP-09", Level: must, Text: "Nothing goes by a process that was not agreed"},
		{ID: "AMQP-10", Level: must, Text: "A message leaves the queue when its handling is confirmed"},
		{ID: "AMQP-11", Level: must, Text: "What cannot be read comes to the dead-letter queue"},
		{ID: "AMQP-12", Level: must, Text: "The error queue tells code, status and the message it is about"},
		{ID: "AMQP-13", Level: must, Text: "Error and dead-letter queues can be worked through"},
		{ID: "AMQP-14", Level: must, Text: "An AppRec takes or refuses a business message"},
		{ID: "AMQP-15", Level: info, Text: "Who wrote and read a message when can be seen"},
		{ID: "AMQP-16", Level: must, Text: "A message is open until its positive AppRec"},
		{ID: "AMQP-17", Level: must, Text: "No responsibility passes by a synchronous exchange"},
	}
}

func amqpAttributes() []Rule {
	return []Rule{
		{ID: "AMQP-18", Level: must, Text: "messageId is a UUID of its own"},
		{ID: "AMQP-19", Level: must, Text: "userId is not set"},
		{ID: "AMQP-20", Level: must, Text: "to is the queue, as registered"},
		{ID: "AMQP-21", Level: must, Text: "subject is of code list 8279"},
		{ID: "AMQP-22", Level: must, Text: "subject is AMQP_SOAP_FAULT for a SOAP fault"},
		{ID: "AMQP-23", Level: must, Text: "replyTo is the queue for the answer, as registered"},
		{ID: "AMQP-24", Level: must, Text: "correlationId ties an answer to its request"},
		{ID: "AMQP-25", Level: must, Text: "contentType is one of four"},
		{ID: "AMQP-26", Level: must, Text: "What the profile does not use is not set"},
		{ID: "AMQP-27", Level: must, Text: "cpaId is the agreement's id, or absent"},
		{ID: "AMQP-28", Level: must, Text: "Service and Action are those of the agreement"},
		{ID: "AMQP-29", Level: must, Text: "applicationTimeStamp has a zone"},
		{ID: "AMQP-30", Level: must, Text: "fromHerId is there"},
		{ID: "AMQP-31", Level: must, Text: "fromRole is that of the agreement"},
		{ID: "AMQP-32", Level: must, Text: "toHerId is there"},
		{ID: "AMQP-33", Level: must, Text: "toRole is that of the agreement"},
		{ID: "AMQP-34", Level: must, Text: "ConversationId is the same for a whole conversation"},
		{ID: "AMQP-35", Level: must, Text: "originalMessageId names the message that failed"},
		{ID: "AMQP-36", Level: must, Text: "receiverTimeStamp is when it was tried"},
		{ID: "AMQP-37", Level: must, Text: "errorCondition is a code"},
		{ID: "AMQP-38", Level: must, Text: "errorDescription is a text"},
		{ID: "AMQP-39", Level: must, Text: "errorConditionData is there when there is something to add"},
		{ID: "AMQP-40", Level: must, Text: "Fields of errors are in error messages alone"},
		{ID: "AMQP-41", Level: must, Text: "The payload is one Data section of raw bytes"},
	}
}

func amqpQueues() []Rule {
	return []Rule{
		{ID: "AMQP-42", Level: must, Text: "Asynchronous messages have no time to live"},
		{ID: "AMQP-43", Level: must, Text: "Synchronous ones live 15 seconds"},
		{ID: "AMQP-44", Level: must, Text: "The error queue gets the errors of the profile alone"},
		{ID: "AMQP-45", Level: must, Text: "After ten tries a message is a dead letter"},
		{ID: "AMQP-46", Level: info, Text: "We make no queues; a new party works without a restart"},
		{ID: "AMQP-47", Level: must, Text: "Senders are told what they alone can mend"},
		{ID: "AMQP-48", Level: must, Text: "Our own faults are never told to the sender"},
		{ID: "AMQP-49", Level: must, Text: "What comes on the error queue is seen, with its cause, and can be sent again"},
		{ID: "AMQP-50", Level: info, Text: "Each queue has its dead-letter queue, by the broker's way"},
		{ID: "AMQP-51", Level: must, Text: "What cannot be handled now is a dead letter, not an error"},
		{ID: "AMQP-52", Level: should, Text: "A dead letter is put back on the queue named in to"},
		{ID: "AMQP-53", Level: must, Text: "Dead letters are told to people"},
		{ID: "AMQP-54", Level: must, Text: "The clock follows a time server, or it is told"},
		{ID: "AMQP-55", Level: info, Text: "The time server is free to choose", Reason: "a choice of the operator; the page of the broker names ntp.nhn.no when the clock follows none"},
		{ID: "AMQP-56", Level: must, Text: "A synchronous request that is too old is not handled"},
	}
}

func amqpCertificates() []Rule {
	return []Rule{
		{ID: "AMQP-57", Level: should, Text: "Certificates are cached"},
		{ID: "AMQP-58", Level: must, Text: "A certificate is within its validity"},
		{ID: "AMQP-59", Level: must, Text: "A certificate is of the right usage"},
		{ID: "AMQP-60", Level: must, Text: "A certificate is not revoked, which is asked online"},
		{ID: "AMQP-61", Level: must, Text: "While nobody can be asked, the message waits"},
		{ID: "AMQP-62", Level: must, Text: "A certificate that fails is asked for anew, once"},
		{ID: "AMQP-63", Level: must, Text: "The message is kept and tried with the new certificate"},
		{ID: "AMQP-64", Level: must, Text: "Of several certificates the newest is used, and all are read"},
		{ID: "AMQP-65", Level: info, Text: "Certificates change without loss"},
		{ID: "AMQP-66", Level: must, Text: "Signatures are encapsulated"},
		{ID: "AMQP-67", Level: must, Text: "Signed first, then encrypted"},
		{ID: "AMQP-68", Level: must, Text: "CMS is used for both"},
		{ID: "AMQP-69", Level: must, Text: "The whole message is signed, with a certificate for non-repudiation"},
		{ID: "AMQP-70", Level: must, Text: "It is encrypted for a certificate for encipherment"},
		{ID: "AMQP-71", Level: must, Text: "The AMQP message says so in its contentType"},
		{ID: "AMQP-72", Level: must, Text: "Certificates are those of the address registry"},
	}
}

func amqpProcesses() []Rule {
	return []Rule{
		{ID: "AMQP-73", Level: must, Text: "AMQP errors are for certificates, encoding and envelope"},
		{ID: "AMQP-74", Level: must, Text: "Negative AppRecs are for the business message"},
		{ID: "AMQP-75", Level: must, Text: "After a positive AppRec neither of them comes"},
		{ID: "AMQP-76", Level: must, Text: "A missing AppRec is told, and a person may send again (INC-08)"},
		{ID: "AMQP-77", Level: must, Text: "Messages go to the async queue of the receiver"},
		{ID: "AMQP-78", Level: must, Text: "The receiver reads its queue"},
		{ID: "AMQP-79", Level: must, Text: "What fails goes to the error queue registered for the sender"},
		{ID: "AMQP-80", Level: must, Text: "Only failed checks go there"},
		{ID: "AMQP-81", Level: must, Text: "The business message is validated"},
		{ID: "AMQP-82", Level: must, Text: "A valid message is kept before it leaves the queue"},
		{ID: "AMQP-83", Level: must, Text: "An invalid business message gets a negative AppRec"},
		{ID: "AMQP-84", Level: must, Text: "It is settled when it is kept or answered"},
		{ID: "AMQP-85", Level: must, Text: "After ten tries there is a way to mend and put back"},
		{ID: "AMQP-86", Level: must, Text: "A positive AppRec goes to the sender's async queue"},
		{ID: "AMQP-87", Level: must, Text: "The error queue is handled"},
		{ID: "AMQP-88", Level: must, Text: "AppRecs of all statuses are handled"},
		{ID: "AMQP-89", Level: must, Text: "Neither error nor AppRec: it is overdue"},
		{ID: "AMQP-90", Level: must, Text: "A request without an answer in time has failed; a late answer is dropped"},
		{ID: "AMQP-91", Level: must, Text: "Synchronous messages are not durable and expire"},
		{ID: "AMQP-92", Level: must, Text: "Requests go to the sync queue (INC-07)"},
		{ID: "AMQP-93", Level: must, Text: "Requests get the same checks"},
		{ID: "AMQP-94", Level: must, Text: "A handler makes the answer"},
		{ID: "AMQP-95", Level: must, Text: "A request is settled when it is answered"},
		{ID: "AMQP-96", Level: must, Text: "The answer is a result or an error"},
		{ID: "AMQP-97", Level: must, Text: "Errors and answers to requests are handled"},
	}
}

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
