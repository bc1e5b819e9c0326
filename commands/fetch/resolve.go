package fetch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"svc/domain/automation/value"
)

// sentParams are the parameters that make up a request. References to secrets
// count in them, but not in the name of a method or a role.
var sentParams = []string{"url", "headers", "query", "body", "multipart", "auth"}

// resolved returns the parameters with the references to secrets in what is sent
// replaced. Keys are left as they are.
func (c Call) resolved(ctx context.Context) (*value.Object, error) {
	if c.Resolve == nil {
		return c.Params, nil
	}
	params := c.Params.Copy()
	for _, key := range sentParams {
		v, err := c.replace(ctx, params.At(key))
		if err != nil {
			return nil, err
		}
		params.Set(key, v)
	}
	return params, nil
}

func (c Call) replace(ctx context.Context, v any) (any, error) {
	switch v := v.(type) {
	case string:
		return c.Resolve(ctx, v)
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			changed, err := c.replace(ctx, item)
			if err != nil {
				return nil, err
			}
			list[i] = changed
		}
		return list, nil
	case *value.Object:
		o := &value.Object{}
		for _, key := range v.Keys() {
			changed, err := c.replace(ctx, v.At(key))
			if err != nil {
				return nil, err
			}
			o.Set(key, changed)
		}
		return o, nil
	}
	return v, nil
}

// Hash returns what tells one request from another, as they were written: a
// replay asks whether the same request would be sent. How its answer is treated
// does not count.
func Hash(params *value.Object) string {
	method, _ := params.At("method").(string)
	if method == "" {
		method = "get"
	}
	o := value.NewObject("method", strings.ToUpper(method))
	for _, key := range append([]string{"svcApiKey"}, sentParams...) {
		o.Set(key, params.At(key))
	}
	sum := sha256.Sum256([]byte(value.JSON(o, "")))
	return hex.EncodeToString(sum[:])
}
