package automation

import "svc/domain/automation/value"

// documentFields is the table of a document, in the order of the contract.
var documentFields = []field{
	{name: "slug", is: text, doc: "Its name in addresses and calls."},
	{name: "name", is: text | object, must: true, each: &field{is: text}, rule: named, doc: "Its title, by locale; folder/sub/Label groups it in folders."},
	{name: "description", is: text | object, each: &field{is: text}, doc: "What it is for, by locale."},
	{name: "do", is: list | null, must: true, role: body, doc: "Instructions."},
	{name: "output", is: anything, role: later, doc: "What it returns."},
	{name: "when", is: object, doc: "What starts it besides calls.", of: []field{
		{name: "events", is: list, each: &field{is: text, rule: pattern}, doc: "Types of events; the last part may be *."},
		{name: "endpoint", is: boolean | text, rule: endpointRule, doc: "true: its slug; or a path with :parameters."},
		{name: "schedules", is: list, each: &field{is: text, rule: schedule, raises: InvalidSchedule}, doc: "Cron, five fields."},
	}},
	{name: "arguments", is: object, doc: "Typed fields of its input, by name."},
	{name: "schemas", is: list, doc: "Schemas of its input and output, the first whose conditions match counts.", each: &field{is: object, of: []field{
		{name: "conditions", is: object, doc: "Paths of the input and their values."},
		{name: "payload", is: object, doc: "Schema of the input."},
		{name: "output", is: object, doc: "Schema of the output; never enforced."},
	}}},
	{name: "validateArguments", is: boolean, otherwise: true, doc: "Check the input before anything runs."},
	{name: "private", is: boolean, otherwise: false, doc: "Callable from its workspace or app only."},
	{name: "disabled", is: boolean, otherwise: false, doc: "Nothing starts it."},
	{name: "authorizations", is: object, doc: "Who may execute it.", of: []field{
		{name: "action", is: text, doc: "The action that rules name."},
	}},
	{name: "labels", is: list, each: &field{is: text, match: `^[0-9A-Za-z._:-]{2,60}$`, says: "label (2 to 60 letters, digits and ._:-)"}, doc: "Labels."},
	{name: "events", is: anything, computed: true, doc: "Events it emits and listens to."},
	{name: "createdAt", is: anything, computed: true},
	{name: "updatedAt", is: anything, computed: true},
	{name: "createdBy", is: anything, computed: true},
	{name: "updatedBy", is: anything, computed: true},
	{name: "checksum", is: anything, computed: true},
}

// named is the rule of name: some title is there.
func named(v any) string {
	o, ok := v.(*value.Object)
	if v == "" || ok && o.Len() == 0 {
		return "expected a name"
	}
	return ""
}

var fetchParams = []field{
	{name: "url", is: text, must: true, rule: webAddress, doc: "Absolute address, http or https."},
	{name: "method", is: text, enum: []string{"get", "post", "put", "patch", "delete", "head"}, fold: true, otherwise: "get", doc: "The method."},
	{name: "headers", is: object, doc: "Headers."},
	{name: "query", is: object, doc: "Joined to the address; an array repeats its key."},
	{name: "body", is: anything, doc: "JSON unless a content-type says otherwise."},
	{name: "multipart", is: list, doc: "Parts of a form.", each: &field{is: object, of: []field{
		{name: "fieldname", is: text, must: true, doc: "Name of the part."},
		{name: "value", is: anything, must: true, doc: "Text, bytes, or base64 with a filename."},
		{name: "filename", is: text, doc: "Name of the file."},
		{name: "contentType", is: text, doc: "Its type."},
	}}},
	{name: "outputMode", is: text, enum: []string{"body", "detailed_response", "base64", "data_url"}, otherwise: "body", doc: "What the result is."},
	{name: "emitErrors", is: boolean, otherwise: true, doc: "Record runtime.fetch.failed."},
	{name: "timeout", is: number, least: bound(0), above: true, most: bound(600), doc: "Seconds."},
	{name: "auth", is: object, blank: IsBlank, doc: "How to authenticate; nothing when every field is empty.", of: []field{
		{name: "basic", is: object, of: []field{{name: "user", is: text}, {name: "password", is: text}}},
		{name: "awsv4", is: object, of: []field{
			{name: "accessKeyId", is: text}, {name: "secretAccessKey", is: text}, {name: "service", is: text}, {name: "region", is: text},
		}},
		{name: "oauth2", is: object, of: []field{
			{name: "tokenUrl", is: text}, {name: "clientId", is: text}, {name: "clientSecret", is: text}, {name: "scope", is: text},
		}},
		{name: "svc", is: object, of: []field{{name: "forwardWorkspaceAuth", is: boolean}}},
	}},
	{name: "svcApiKey", is: object, of: []field{{name: "name", is: text}}, doc: "Add the API key of a role."},
	{name: "allowSelfSignedCert", is: boolean, otherwise: false, doc: "Do not verify the certificate."},
	{name: "stream", is: object, blank: noEvent, doc: "Emit the answer piece by piece; nothing without event.", of: []field{
		{name: "event", is: text, match: EventName, says: "event name (1 to 200 letters, digits, blanks and ._-)", rule: notNative, raises: InvalidEvent, blank: IsBlank, doc: "Type of the events."},
		{name: "payload", is: anything, doc: "Added to each."},
		{name: "target", is: object, of: emitTarget, doc: "Who receives them live."},
		{name: "options", is: object, of: emitOptions, doc: "How they are kept."},
		{name: "endChunk", is: anything, doc: "The last chunk."},
		{name: "concatenate", is: object, doc: "Gather the pieces.", of: []field{
			{name: "path", is: text, doc: "What of a piece."},
			{name: "throttle", is: number, least: bound(0), doc: "Milliseconds between events."},
		}},
	}},
}

// noEvent reports whether a stream names no event: there is none then.
func noEvent(v any) bool {
	stream, ok := v.(*value.Object)
	return ok && IsBlank(stream.At("event"))
}

// modules are the functions that run may call.
var modules = map[string][]string{
	"collections": {
		"updateSchema", "listCollections", "getCollectionSchemas", "getCollectionStats", "inferCollectionSchema", "deleteCollections",
		"findOne", "findMany", "findAndCount", "count", "distinct", "aggregate", "create", "bulkCreate", "updateOne", "updateMany",
		"upsert", "bulkUpsert", "deleteOne", "deleteMany",
	},
	"secrets": {"set", "get", "delete"},
	"text":    {"splitText", "parseUrl"},
	"crypto":  {"sha256", "sha512", "md5", "hmac", "base64Encode", "base64Decode", "randomBytes", "randomUUID"},
	"code":    {"run", "call"},
}
