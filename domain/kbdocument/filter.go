package kbdocument

import (
	"fmt"
	"slices"
	"strings"

	"svc/domain"
	"svc/domain/automation/expr"
	"svc/domain/value"
)

// Filter selects documents by the matcher of automations, strictly, on the fields that a search may use.
type Filter struct {
	matcher *expr.Matcher
	steps   int
}

// filterFields are what a filter may name, besides parts of the metadata.
var filterFields = strings.Fields("id key name title url source sourceId tags language mimetype size createdAt updatedAt knowledgeBase")

// IsFilterField reports whether a filter may name a field.
func IsFilterField(name string) bool {
	path, isMetadata := strings.CutPrefix(name, "metadata.")
	return slices.Contains(filterFields, name) || isMetadata && path != ""
}

// Bounds of a filter.
const (
	maxLeaves    = 100
	maxNesting   = 8
	filterBudget = 100_000 // steps for one document
)

// ParseFilter compiles a filter. An unknown field or operator is refused with its path, which begins with at.
func ParseFilter(at string, conditions any) (*Filter, error) {
	object, ok := value.From(conditions).(*value.Object)
	if !ok {
		return nil, invalidFilter(at, "must be an object of conditions")
	}
	leaves := 0
	if err := checkFilter(at, object, 0, &leaves); err != nil {
		return nil, err
	}
	matcher, err := expr.CompileMatcher(object, false)
	if err != nil {
		return nil, invalidFilter(at, err.Error())
	}
	return &Filter{matcher: matcher, steps: filterBudget}, nil
}

// Matches reports whether a document has these fields. A document that takes too many steps does not.
func (f *Filter) Matches(fields map[string]any) bool {
	ok, _, err := f.matcher.MatchWithin(value.From(fields), f.steps)
	return ok && err == nil
}

func invalidFilter(path, message string) error {
	return domain.Invalid(domain.FieldError{Field: path, Message: message})
}

func checkFilter(at string, o *value.Object, depth int, leaves *int) error {
	if depth > maxNesting {
		return invalidFilter(at, fmt.Sprintf("may be nested %d times", maxNesting))
	}
	for key, operand := range o.All() {
		path := at + "." + key
		if key == "$and" || key == "$or" || key == "$nor" {
			list, ok := operand.([]any)
			if !ok {
				return invalidFilter(path, "must be a list of conditions")
			}
			for i, item := range list {
				inner, ok := item.(*value.Object)
				if !ok {
					return invalidFilter(fmt.Sprintf("%s[%d]", path, i), "must be an object of conditions")
				}
				if err := checkFilter(fmt.Sprintf("%s[%d]", path, i), inner, depth+1, leaves); err != nil {
					return err
				}
			}
			continue
		}
		switch {
		case strings.HasPrefix(key, "$"):
			return invalidFilter(path, "is no operator here")
		case !IsFilterField(key):
			return invalidFilter(path, "is no field of a document")
		}
		if err := checkOperand(path, key, operand); err != nil {
			return err
		}
		if *leaves++; *leaves > maxLeaves {
			return invalidFilter(at, fmt.Sprintf("may have %d conditions", maxLeaves))
		}
	}
	return nil
}

// checkOperand compiles one condition by itself, so that its path is known.
func checkOperand(path, key string, operand any) error {
	if _, err := expr.CompileMatcher(value.NewObject(key, operand), false); err != nil {
		return invalidFilter(path, err.Error())
	}
	return nil
}
