package amqp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"schakel/delivery/amqp/certs"
	"schakel/delivery/amqp/cms"
	"schakel/delivery/amqp/link"
	"schakel/delivery/amqp/message"
	"schakel/delivery/amqp/msghead"
	"schakel/store"
)

// document is the business message inside a message that was read.
type document struct {
	kind    msghead.Kind
	info    msghead.Info
	bytes   []byte
	process store.AMQPProcess
}

// errUnknownSender is the cause of a refusal that no known party can be notified of.
var errUnknownSender = errors.New("the sender is not known")

// check makes the checks of section G in their order; the first that fails wins: fields, process, duplicate, certificate,
// decryption, signature, header, sender, receiver, XML, XSD, values. The document is given as far as it was read. The error is
// a *refused, a *rejected, errDuplicate, or our own fault.
func (b *Bridge) check(ctx context.Context, conn Conn, in *incoming, mode string) (*document, error) {
	if err := b.checkFields(ctx, conn, in); err != nil {
		return nil, err
	}
	doc := &document{}
	var err error
	if doc.process, err = b.checkProcess(ctx, in, mode); err != nil {
		return nil, err
	}
	known, err := b.cfg.DB.AMQPRead(ctx, in.own.ID, in.queue.name, in.row.Her, in.row.MessageID)
	if err == nil && known.ID != in.row.ID {
		return nil, errDuplicate // AMQP-105
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	if doc.bytes, err = b.openBody(ctx, in); err != nil {
		return nil, err
	}
	return doc, b.checkDocument(ctx, in, doc)
}

// checkFields is the check of required fields and values (AMQP-99), of who sends to whom, and of where the answer goes
// (AMQP-107).
func (b *Bridge) checkFields(ctx context.Context, conn Conn, in *incoming) error {
	m := in.message
	switch {
	case in.from == nil || in.from.Own:
		return refuse(message.RefuseFields(message.InvalidFieldValue, message.FieldFromHerID), errUnknownSender)
	case len(in.faults) > 0:
		return refuse(b.fieldRefusal(in.faults), nil)
	case int64(m.ToHerID) != in.own.HerID:
		return refuse(message.RefuseFields(message.InvalidFieldValue, message.FieldToHerID), fmt.Errorf("it is to HER-id %d", m.ToHerID))
	case !b.knownSubject(ctx, m.Subject):
		return refuse(message.RefuseFields(message.InvalidFieldValue, message.FieldSubject), fmt.Errorf("subject %q is not of code list 8279", m.Subject))
	}
	if content, _ := message.ParseContentType(m.ContentType); content != message.ContentSignedAndEncrypted && !(content == message.ContentSOAP && m.Subject == message.SubjectSOAPFault) {
		return refuse(message.RefuseFields(message.InvalidFieldValue, message.FieldContentType), errors.New("a business message is signed and encrypted"))
	}
	return b.checkReplyTo(ctx, conn, in)
}

// fieldRefusal names the fields that are missing or wrong (INC-04).
func (b *Bridge) fieldRefusal(faults []message.Fault) message.Refusal {
	condition := message.InvalidFieldValue
	if b.cfg.MissingFields && faults[0].Kind == message.Missing {
		condition = message.RequiredFieldMissing
	}
	return message.RefuseFields(condition, message.FaultFields(faults)...)
}

// checkReplyTo looks whether the queue for the answer is there. One that is registered for the sender is.
func (b *Bridge) checkReplyTo(ctx context.Context, conn Conn, in *incoming) error {
	name := store.AMQPQueueName(in.message.ReplyTo)
	for _, registered := range []string{in.from.AsyncQueue, in.from.SyncQueue, in.from.ReplyQueue} {
		if strings.EqualFold(name, store.AMQPQueueName(registered)) {
			return nil
		}
	}
	err := conn.Exists(ctx, name)
	switch link.KindOf(err) {
	case link.NotFound:
		return refuse(message.RefuseFields(message.InvalidFieldValue, message.FieldReplyTo), err)
	case link.Denied: // the broker does not say; what we answer goes to the registered queue
		return nil
	}
	return err
}

// knownSubject reports whether a subject is in the code list; a code that a process names is (AMQP-21).
func (b *Bridge) knownSubject(ctx context.Context, subject string) bool {
	if subject == subjectAppRec || subject == message.SubjectSOAPFault || slices.Contains(b.cfg.Subjects(ctx), subject) {
		return true
	}
	named := func(p store.AMQPProcess) bool { return p.Subject == subject }
	if slices.ContainsFunc(b.dir.Load().processes, named) {
		return true
	}
	b.warn(ctx, "parties cannot be read", b.fresh(ctx))
	return slices.ContainsFunc(b.dir.Load().processes, named)
}

// checkProcess looks whether sender and receiver chose to support the process (AMQP-100). An AppRec belongs to any.
func (b *Bridge) checkProcess(ctx context.Context, in *incoming, mode string) (store.AMQPProcess, error) {
	if in.message.Subject == subjectAppRec && mode == store.AMQPAsync || in.message.Subject == message.SubjectSOAPFault {
		return store.AMQPProcess{}, nil
	}
	p, ok := b.dir.Load().receives(in.from, in.own, in.message.Subject, mode)
	if !ok {
		if err := b.fresh(ctx); err != nil {
			return p, fmt.Errorf("look for process: %w", err)
		}
		p, ok = b.dir.Load().receives(in.from, in.own, in.message.Subject, mode)
	}
	if !ok {
		return p, refuse(message.Refuse(message.UnsupportedMessage), fmt.Errorf("no process takes %s of %s", in.message.Subject, in.from.Name))
	}
	in.row.CPAID = cmp.Or(in.row.CPAID, p.CPAID) // AMQP-27
	return p, nil
}

// openBody decrypts and verifies (AMQP-101 to AMQP-104). When that fails for reasons of ours the message waits.
func (b *Bridge) openBody(ctx context.Context, in *incoming) ([]byte, error) {
	if content, _ := message.ParseContentType(in.message.ContentType); content == message.ContentSOAP {
		return in.message.Body, nil
	}
	document, err := b.unseal(ctx, in.own, in.from, in.message.Body)
	if !unavailable(err) {
		b.checkedAgain(ctx, in)
	}
	if err == nil {
		return document, nil
	}
	if r, ok := refusalOf(err); ok {
		return nil, r
	}
	if errors.Is(err, errNoCertificate) {
		return nil, refuse(message.RefuseCertificate(message.InvalidCertificate, "", ""), err)
	}
	return nil, err
}

// checkDocument makes the checks of the business message. What its header says is read even when the rest cannot be.
func (b *Bridge) checkDocument(ctx context.Context, in *incoming, doc *document) error {
	parsed, err := msghead.Parse(doc.bytes)
	doc.kind, doc.info = parsed.Kind, parsed.Info
	if doc.kind == msghead.SOAPFault {
		doc.info.Type.DN = parsed.Fault.Reason
	}
	fault := b.headFault(err)
	if _, unreadable := errors.AsType[*refused](fault); unreadable {
		return fault // AMQP-106, AMQP-135
	}
	if doc.kind.IsAppRec() || doc.kind == msghead.SOAPFault {
		return fault
	}
	if sender := doc.info.Sender.HerID(); sender != in.message.FromHerID {
		return refuse(message.RefuseSpoofing(in.message.FromHerID, strconv.Itoa(sender)), nil) // AMQP-108
	}
	if receiver := doc.info.Receiver.HerID(); receiver != in.message.ToHerID {
		return &rejected{codes: []string{codeReceiver}, text: fmt.Sprintf("The message is to HER-id %d and its envelope to %d.", receiver, in.message.ToHerID)}
	}
	if r, ok := errors.AsType[*rejected](fault); ok && r.codes[0] == codeXML {
		return r // AMQP-110
	}
	if err := b.checkSchema(ctx, in, doc.bytes); err != nil {
		return err
	}
	if fault != nil {
		return fault // AMQP-112
	}
	if doc.process.ID == "" {
		return refuse(message.RefuseFields(message.InvalidFieldValue, message.FieldSubject), fmt.Errorf("a %s came under subject %s", doc.kind, in.message.Subject))
	}
	return nil
}

const maxFindings = 5

// checkSchema validates by the operator's XSDs (AMQP-111).
func (b *Bridge) checkSchema(ctx context.Context, in *incoming, document []byte) error {
	findings, unread, err := b.validate(ctx, document)
	if unread {
		in.row.Detail = "amqp.detail.unvalidated"
	}
	if err != nil || len(findings) == 0 {
		return err
	}
	r := &rejected{}
	var texts, places []string
	for _, f := range findings[:min(len(findings), maxFindings)] {
		r.codes = append(r.codes, codeInvalid)
		texts = append(texts, fmt.Sprintf("line %d: %s", f.Line, f.Text))
		places = append(places, fmt.Sprintf("line %d, element %s", f.Line, f.Path))
	}
	r.text, r.plain = strings.Join(texts, "; "), "not valid by its schema: "+strings.Join(places, "; ")
	return r
}

// refused is an error that goes to the sender as an AMQP error (section G, first part).
type refused struct {
	message.Refusal

	cause error
}

func (r *refused) Error() string {
	text := string(r.Condition)
	if r.Data != "" {
		text += " " + r.Data
	}
	if r.cause != nil {
		text += ": " + r.cause.Error()
	}
	return text
}

// explain gives our own people the answer to the sender, and the cause that is left out of it: the algorithm, key or field.
func (r *refused) explain() string {
	text := r.Description()
	if r.Data != "" {
		text += " " + r.Data
	}
	if r.cause != nil {
		text += " Cause: " + r.cause.Error()
	}
	return text
}

// Unwrap gives the cause, or nil.
func (r *refused) Unwrap() error { return r.cause }

func refuse(r message.Refusal, cause error) *refused { return &refused{r, cause} }

// refusalOf turns a problem of the certificate, the body or the signature into the answer to the sender. False is
// our own fault, or nobody's: the message waits (AMQP-48, AMQP-61).
func refusalOf(err error) (*refused, bool) {
	if f, ok := errors.AsType[*cms.Failure](err); ok {
		return refuse(cmsRefusal(f), err), true
	}
	e, ok := errors.AsType[*certs.Error](err)
	if !ok {
		return nil, false
	}
	switch e.Kind {
	case certs.Expired, certs.NotYetValid:
		return refuse(message.RefuseCertificate(message.ExpiredCertificate, "", e.Thumbprint), err), true
	case certs.Revoked:
		return refuse(message.RefuseCertificate(message.RevokedCertificate, "", e.Thumbprint), err), true
	case certs.WrongUsage, certs.Untrusted:
		return refuse(message.RefuseCertificate(message.InvalidCertificate, "", e.Thumbprint), err), true
	}
	return nil, false
}

func cmsRefusal(f *cms.Failure) message.Refusal {
	if f.Kind == cms.InvalidCMS {
		return message.Refuse(message.InvalidCMS)
	}
	return message.RefuseCertificate(message.Condition(f.Kind), f.Expected, f.Actual)
}

// rejected is an error that goes to the sender as a negative AppRec (section G, second part).
type rejected struct {
	codes []string // of code list 8221
	text  string
	plain string // the text without what it quotes of the document, where it does
}

// forLog is the text without content of the document.
func (r *rejected) forLog() string {
	return cmp.Or(r.plain, r.text)
}

func (r *rejected) Error() string { return r.text }

// Codes of a negative AppRec (code list 8221).
const (
	codeReceiver     = "E10" // AMQP-109
	codeNoSubscriber = "E21" // nobody is subscribed to it
	codeXML          = "T01" // AMQP-110
	codeInvalid      = "T02" // AMQP-111, AMQP-112
)

// headFault turns a problem of a document into the answer to the sender.
func (b *Bridge) headFault(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, msghead.ErrEncoding):
		return refuse(message.RefuseEncoding(msghead.ExpectedCharset), err)
	case errors.Is(err, msghead.ErrHeader):
		c := message.NotWellFormedXML
		if b.cfg.HeaderXML {
			c = message.NotInterpretableXML
		}
		return refuse(message.Refuse(c), err)
	case errors.Is(err, msghead.ErrBody):
		return &rejected{codes: []string{codeXML}, text: err.Error()}
	case errors.Is(err, msghead.ErrValues):
		return &rejected{codes: []string{codeInvalid}, text: err.Error()}
	}
	return err
}
