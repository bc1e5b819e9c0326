package fetch

import (
	"bytes"
	"encoding/base64"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"strings"

	"golang.org/x/net/http/httpguts"

	"svc/domain/automation"
	"svc/domain/automation/value"
)

const (
	contentType = "Content-Type"
	typeJSON    = "application/json"
	typeForm    = "application/x-www-form-urlencoded"
	typeOther   = "application/octet-stream"
)

// encodeBody returns what is sent, and says in header what type it is of.
func encodeBody(params *value.Object, header http.Header) ([]byte, error) {
	if parts := params.At("multipart"); !value.IsNothing(parts) {
		return encodeParts(parts, header)
	}
	body := params.At("body")
	if value.IsNothing(body) {
		return nil, nil
	}
	if header.Get(contentType) == "" {
		header.Set(contentType, typeJSON)
	}
	switch body := body.(type) {
	case string:
		return []byte(body), nil
	case value.Bytes:
		return body, nil
	case value.Stream:
		return nil, automation.Invalid("fetch.body: a stream cannot be sent")
	}
	if mediaOf(header.Get(contentType)) == typeForm {
		o, ok := body.(*value.Object)
		if !ok {
			return nil, automation.Invalid("fetch.body: a form is an object, not %s", value.TypeName(body))
		}
		text, err := encodePairs(o, "fetch.body")
		return []byte(text), err
	}
	return []byte(value.JSON(body, "")), nil
}

// mediaOf returns the type that a content-type names, without its parameters.
func mediaOf(header string) string {
	media, _, _ := strings.Cut(header, ";")
	return strings.ToLower(strings.TrimSpace(media))
}

// charsetOf returns the character set that a content-type names.
func charsetOf(header string) string {
	_, params, err := mime.ParseMediaType(header)
	if err != nil {
		return ""
	}
	return strings.ToLower(params["charset"])
}

func encodeParts(v any, header http.Header) ([]byte, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, automation.Invalid("fetch.multipart: expected a list, got %s", value.TypeName(v))
	}
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for i, item := range list {
		if err := writePart(w, item); err != nil {
			return nil, automation.Invalid("fetch.multipart[%d]%s", i, err.Message)
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	header.Set(contentType, w.FormDataContentType())
	return b.Bytes(), nil
}

// writePart adds one part. The message of its error goes on where the path of
// the part ends.
func writePart(w *multipart.Writer, item any) *automation.Error {
	part, ok := item.(*value.Object)
	if !ok {
		return automation.Invalid(": expected an object, got %s", value.TypeName(item))
	}
	r, err := reader{part, ""}, error(nil)
	field, file, media := r.text("fieldname", "", &err), r.text("filename", "", &err), r.text("contentType", "", &err)
	switch {
	case err != nil:
		return automation.ErrorOf(err)
	case field == "":
		return automation.Invalid(".fieldname: expected a name")
	case !httpguts.ValidHeaderFieldValue(media):
		return automation.Invalid(".contentType: expected a type")
	}
	content, known := partContent(part.At("value"), file != "")
	if !known {
		return automation.Invalid(".value: expected a text or bytes, got %s", value.TypeName(part.At("value")))
	}
	// Writing to memory does not fail.
	to, _ := w.CreatePart(partHeader(field, file, media))
	_, _ = to.Write(content)
	return nil
}

func partHeader(field, file, media string) textproto.MIMEHeader {
	disposition := multipart.FileContentDisposition(field, file)
	if file == "" {
		disposition = strings.TrimSuffix(disposition, `; filename=""`)
	} else if media == "" {
		media = typeOther
	}
	header := textproto.MIMEHeader{"Content-Disposition": {disposition}}
	if media != "" {
		header.Set(contentType, media)
	}
	return header
}

// partContent returns the bytes of a part: bytes and lists of them as they are,
// base64 of a file decoded, everything else as text.
func partContent(v any, file bool) ([]byte, bool) {
	switch v := v.(type) {
	case value.Bytes:
		return v, true
	case []any:
		if raw, ok := byteNumbers(v); ok {
			return raw, true
		}
		return []byte(value.JSON(v, "")), true
	case string:
		if raw, err := base64.StdEncoding.DecodeString(v); file && err == nil {
			return raw, true
		}
		return []byte(v), true
	case *value.Object:
		return []byte(value.JSON(v, "")), true
	case float64, bool:
		return []byte(value.Text(v)), true
	}
	return nil, false
}

func byteNumbers(list []any) ([]byte, bool) {
	raw := make([]byte, len(list))
	for i, item := range list {
		n, ok := item.(float64)
		if !ok || n < 0 || n > 255 || n != float64(byte(n)) {
			return nil, false
		}
		raw[i] = byte(n)
	}
	return raw, true
}
