package api

import (
	"encoding/base64"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"svc/domain"
	"svc/domain/automation/value"
	"svc/http/gateway"
)

// withheld are headers that automations do not get: those of the way to here. Others
// that begin with x- stay, signatures are checked with them.
var withheld = map[string]bool{"cookie": true, "host": true, "x-real-ip": true, "x-correlation-id": true}

// triggerHeaders returns the headers of a request as automations get them.
func triggerHeaders(h http.Header) *value.Object {
	names := make([]string, 0, len(h))
	for name := range h {
		names = append(names, name)
	}
	slices.Sort(names)
	o := &value.Object{}
	for _, name := range names {
		lower := strings.ToLower(name)
		hidden := withheld[lower] || strings.HasPrefix(lower, "x-forwarded-") ||
			strings.HasPrefix(lower, "x-svc-") && lower != "x-svc-workspace-id"
		if !hidden {
			o.Set(lower, strings.Join(h[name], ", "))
		}
	}
	return o
}

// formValues returns the values of a query or a form: a repeated key is a list.
func formValues(values url.Values, order []string) *value.Object {
	o := &value.Object{}
	for _, key := range order {
		list := values[key]
		if len(list) == 1 {
			o.Set(key, list[0])
			continue
		}
		all := make([]any, len(list))
		for i, item := range list {
			all[i] = item
		}
		o.Set(key, all)
	}
	return o
}

// parsedForm reads a query or a form, its keys in the order in which they came.
func parsedForm(raw string) (*value.Object, error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, err
	}
	order, met := []string(nil), map[string]bool{}
	for part := range strings.SplitSeq(raw, "&") {
		key, _, _ := strings.Cut(part, "=")
		if key, err = url.QueryUnescape(key); err == nil && values[key] != nil && !met[key] {
			met[key] = true
			order = append(order, key)
		}
	}
	return formValues(values, order), nil
}

// triggerBody reads the body of a request as automations get it, and its text as it
// was received; raw is Undefined for multipart.
func triggerBody(r *http.Request) (body, raw any, err error) {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if strings.HasPrefix(kind, "multipart/") {
		body, err = triggerParts(r, partLimits{})
		return body, value.Undefined, err
	}
	content, err := gateway.ReadBody(r)
	if err != nil {
		return nil, nil, err
	}
	text := strings.ToValidUTF8(string(content), "\uFFFD")
	switch {
	case len(content) == 0:
		return &value.Object{}, "", nil
	case kind == "application/json" || strings.HasSuffix(kind, "+json"):
		if err := gateway.CheckAnyJSON(content); err != nil {
			return nil, nil, err
		}
		body, err = value.ParseJSON(string(content))
		if err != nil {
			err = domain.Refuse(domain.CodeInvalidRequest, "the body is not valid JSON")
		}
		return body, text, err
	case kind == "application/x-www-form-urlencoded":
		form, err := parsedForm(string(content))
		if err != nil {
			return nil, nil, domain.Refuse(domain.CodeInvalidRequest, "the body is not a valid form")
		}
		return form, text, nil
	case strings.HasPrefix(kind, "text/"):
		return text, text, nil
	}
	return value.Bytes(content), text, nil
}

// partLimits bound the files of a multipart body.
type partLimits struct {
	size  int64 // of each; 0: as settings say
	files int   // 0: as many as there may be parts
}

// triggerParts reads a multipart body: fields, and files under their field. A field
// that is repeated is a list.
func triggerParts(r *http.Request, most partLimits) (*value.Object, error) {
	o, files := &value.Object{}, 0
	err := gateway.Parts(r, most.size, func(p gateway.Part) error {
		var v any = strings.ToValidUTF8(p.Text, "\uFFFD")
		name := p.Name
		if p.File != nil {
			if files++; most.files > 0 && files > most.files {
				return domain.Refuse(domain.CodeInvalidRequest, "there are more files than one").With("field", name)
			}
			file, err := triggerFile(p)
			if err != nil {
				return err
			}
			v = file
			if name == "" {
				name = "file"
			}
		}
		switch before, ok := o.Get(name); {
		case !ok:
			o.Set(name, v)
		default:
			list, several := before.([]any)
			if !several {
				list = []any{before}
			}
			o.Set(name, append(slices.Clip(list), v))
		}
		return nil
	})
	return o, err
}

// triggerFile is a file as automations get it.
func triggerFile(p gateway.Part) (*value.Object, error) {
	content, err := io.ReadAll(p.File)
	if err != nil {
		return nil, err
	}
	kind := p.Type
	if kind == "" {
		kind = "application/octet-stream"
	}
	return value.NewObject(
		"originalname", p.Filename, "encoding", "7bit", "mimetype", kind, "size", float64(len(content)),
		"base64", base64.StdEncoding.EncodeToString(content),
	), nil
}
