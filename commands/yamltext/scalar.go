package yamltext

import (
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"svc/domain/document"
)

// What a plain scalar means in the core schema of YAML 1.2.
var (
	isNull    = regexp.MustCompile(`^(?:null|Null|NULL|~|)$`)
	isTrue    = regexp.MustCompile(`^(?:true|True|TRUE)$`)
	isFalse   = regexp.MustCompile(`^(?:false|False|FALSE)$`)
	isDecimal = regexp.MustCompile(`^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$`)
	isOctal   = regexp.MustCompile(`^0o[0-7]+$`)
	isHex     = regexp.MustCompile(`^0x[0-9a-fA-F]+$`)
	isNoValue = regexp.MustCompile(`^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$`)
)

const quoted = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle

// scalar returns the value of a scalar node.
func scalar(n *yaml.Node) (any, error) {
	if n.Style&yaml.TaggedStyle != 0 {
		return tagged(n)
	}
	if n.Style&quoted != 0 {
		return n.Value, nil
	}
	return plain(n)
}

// plain returns what a scalar without quotes means.
func plain(n *yaml.Node) (any, error) {
	switch s := n.Value; {
	case isNull.MatchString(s):
		return nil, nil
	case isTrue.MatchString(s):
		return true, nil
	case isFalse.MatchString(s):
		return false, nil
	case isDecimal.MatchString(s):
		return number(n, s)
	case isOctal.MatchString(s):
		return whole(n, s[2:], 8)
	case isHex.MatchString(s):
		return whole(n, s[2:], 16)
	case isNoValue.MatchString(s):
		return nil, fault(n, "%s is not a JSON number", s)
	default:
		return s, nil
	}
}

func number(n *yaml.Node, s string) (any, error) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return nil, fault(n, "%s is too large a number", document.QuoteShort(s))
	}
	return f, nil
}

func whole(n *yaml.Node, digits string, base int) (any, error) {
	u, err := strconv.ParseUint(digits, base, 64)
	if err != nil {
		return nil, fault(n, "%s is too large a number", document.QuoteShort(n.Value))
	}
	return float64(u), nil
}

// tagged returns the value of a scalar that says itself what it is. Only what a
// plain scalar can be is allowed.
func tagged(n *yaml.Node) (any, error) {
	if n.Tag == "!!str" {
		return n.Value, nil
	}
	v, err := plain(n)
	if err != nil {
		return nil, err
	}
	fits := false
	switch n.Tag {
	case "!!null":
		fits = v == nil
	case "!!bool":
		_, fits = v.(bool)
	case "!!float":
		_, fits = v.(float64)
	case "!!int":
		_, fits = v.(float64)
		fits = fits && !strings.ContainsAny(n.Value, ".eE") || isHex.MatchString(n.Value)
	default:
		return nil, fault(n, "the tag %s is not allowed", document.QuoteShort(n.Tag))
	}
	if !fits {
		return nil, fault(n, "%s is not a valid %s", document.QuoteShort(n.Value), strings.TrimPrefix(n.Tag, "!!"))
	}
	return v, nil
}

// isMerge reports whether key is the << that merges.
func isMerge(key *yaml.Node) bool {
	return key.Kind == yaml.ScalarNode && key.Tag == "!!merge"
}

// checkKey refuses what cannot be a key of JSON.
func checkKey(key *yaml.Node) error {
	scalarKey := key
	if key.Kind == yaml.AliasNode {
		scalarKey = key.Alias
	}
	switch {
	case scalarKey.Kind != yaml.ScalarNode:
		return fault(key, "a key must be a text; put a template into quotes: '{{name}}'")
	case scalarKey.Style&yaml.TaggedStyle != 0 && scalarKey.Tag != "!!str" && !isMerge(scalarKey):
		return fault(key, "the tag %s is not allowed in a key", document.QuoteShort(scalarKey.Tag))
	default:
		return nil
	}
}

// keyOf returns a key as it is written: 200 and '200' are one key.
func keyOf(key *yaml.Node) string {
	if key.Kind == yaml.AliasNode {
		return key.Alias.Value
	}
	return key.Value
}
