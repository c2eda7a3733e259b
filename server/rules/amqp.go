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
