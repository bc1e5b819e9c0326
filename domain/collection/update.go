package collection

import (
	"math/big"
	"slices"
	"strings"

	"svc/domain/automation/expr"
	"svc/domain/value"
)

// update is a list of changes of a row.
type update struct{ steps []step }

// step is one operator on one path.
type step struct {
	path   []string
	root   string // the field that the path begins with
	clears bool   // it only removes
	adds   bool   // to a number
	do     changeFunc
}

// changeFunc computes the new value at a path from the old one.
type changeFunc func(e *budget, have any) (any, error)

// operators make the steps of an update.
var operators = map[string]func(path string, operand any, l Limits) (changeFunc, error){
	"$set": setOperator, "$inc": incOperator, "$push": pushOperator, "$addToSet": addToSetOperator, "$pull": pullOperator,
}

// compileUpdate reads operators, or plain fields, which are set.
func compileUpdate(v any, l Limits) (*update, error) {
	o, ok := v.(*value.Object)
	if !ok {
		return nil, Refuse(Validation, "update is an object of operators or of fields")
	}
	isOperator := func(key string) bool { return strings.HasPrefix(key, "$") }
	if !slices.ContainsFunc(o.Keys(), isOperator) {
		return compileSteps(value.NewObject("$set", o), l)
	}
	if i := slices.IndexFunc(o.Keys(), func(key string) bool { return !isOperator(key) }); i >= 0 {
		return nil, Refuse(Validation, "update has operators and the field %s: it can have one or the other", o.Keys()[i])
	}
	return compileSteps(o, l)
}

func compileSteps(o *value.Object, l Limits) (*update, error) {
	u := &update{}
	for _, op := range o.Keys() {
		if op == "$unset" {
			if err := u.unset(o.At(op)); err != nil {
				return nil, err
			}
			continue
		}
		compile, fields := operators[op], (*value.Object)(nil)
		if fields, _ = o.At(op).(*value.Object); compile == nil || fields == nil {
			return nil, Refuse(BadQuery, "update: %s is not an operator, or it has no fields", op)
		}
		for _, path := range fields.Keys() {
			operand, ok := storedValue(fields.At(path), 0)
			if !ok {
				return nil, Refuse(Validation, "the value of %s is nested too deeply", path)
			}
			do, err := compile(path, operand, l)
			if err != nil {
				return nil, err
			}
			if err := u.add(path, op == "$pull", do); err != nil {
				return nil, err
			}
			u.steps[len(u.steps)-1].adds = op == "$inc"
		}
	}
	return u, nil
}

// unset reads the fields to be removed: the keys of an object, or a list.
func (u *update) unset(operand any) error {
	var paths []string
	if o, ok := operand.(*value.Object); ok {
		paths = o.Keys()
	} else if paths, ok = fieldList(operand); !ok {
		return Refuse(BadQuery, "update: $unset has an object or a list of fields")
	}
	for _, path := range paths {
		if err := u.add(path, true, func(*budget, any) (any, error) { return value.Undefined, nil }); err != nil {
			return err
		}
	}
	return nil
}

func (u *update) add(path string, clears bool, do changeFunc) error {
	keys := strings.Split(unalias(path), ".")
	if slices.Contains(keys, "") || strings.HasPrefix(path, "$") || len(keys) > maxDepth {
		return Refuse(BadQuery, "update: %q is not the path of a field", path)
	}
	u.steps = append(u.steps, step{path: keys, root: keys[0], clears: clears, do: do})
	return nil
}

func setOperator(_ string, operand any, _ Limits) (changeFunc, error) {
	return func(*budget, any) (any, error) { return operand, nil }, nil
}

// incOperator adds a number. A value that is stored as a decimal text stays one.
func incOperator(path string, operand any, _ Limits) (changeFunc, error) {
	by, ok := operand.(float64)
	text, isText := operand.(string)
	if isText {
		by, ok = value.ParseNumber(text)
	}
	if !ok {
		return nil, Refuse(Validation, "$inc of %s needs a number", path)
	}
	return func(_ *budget, have any) (any, error) {
		switch have := have.(type) {
		case float64:
			return have + by, nil
		case string:
			if sum, ok := addDecimals(have, value.Text(operand)); ok {
				return sum, nil
			}
		}
		if value.IsNothing(have) {
			return by, nil
		}
		return nil, Refuse(Validation, "$inc of %s, which is %s", path, value.TypeName(have))
	}, nil
}

// addDecimals adds two decimal texts without losing a digit.
func addDecimals(a, b string) (string, bool) {
	if len(a)+len(b) > 2*maxName || strings.ContainsAny(a+b, "eE/_xXpP") {
		return "", false
	}
	x, okX := new(big.Rat).SetString(strings.TrimSpace(a))
	y, okY := new(big.Rat).SetString(strings.TrimSpace(b))
	if !okX || !okY {
		return "", false
	}
	return x.Add(x, y).FloatString(max(fraction(a), fraction(b))), true
}

// fraction returns how many digits a decimal text has behind the point.
func fraction(s string) int {
	_, digits, _ := strings.Cut(strings.TrimSpace(s), ".")
	return len(digits)
}

// itemsOf returns what is to be pushed or added: one item, or those of $each.
func itemsOf(operand any) []any {
	if o, ok := operand.(*value.Object); ok && o.Len() == 1 {
		if list, ok := o.At("$each").([]any); ok {
			return list
		}
	}
	return []any{operand}
}

func pushOperator(path string, operand any, _ Limits) (changeFunc, error) {
	return listOperator("$push", path, func(list []any) []any { return append(list, itemsOf(operand)...) }), nil
}

func addToSetOperator(path string, operand any, l Limits) (changeFunc, error) {
	items, keys := []any{}, identities{}
	for _, item := range itemsOf(operand) {
		if keys.add(item) {
			items = append(items, item)
		}
		if len(items) > l.MaxRowSize { // an item takes a byte at least
			return nil, withDetail(Refuse(TooLarge, "$addToSet to %s adds more items than a row has bytes", path), "limit", float64(l.MaxRowSize))
		}
	}
	return listOperator("$addToSet", path, func(list []any) []any {
		have := identitiesOf(list)
		for _, item := range items {
			if have.add(item) {
				list = append(list, item)
			}
		}
		return list
	}), nil
}

// listOperator makes a step that changes a list; nothing is an empty one.
func listOperator(op, path string, change func([]any) []any) changeFunc {
	return func(e *budget, have any) (any, error) {
		list, ok := have.([]any)
		if !ok && !value.IsNothing(have) {
			return nil, Refuse(Validation, "%s to %s, which is %s", op, path, value.TypeName(have))
		}
		made := change(slices.Clone(list))
		return made, e.spend(len(list) + len(made))
	}
}

// pullOperator removes the items that are a value, or that meet a condition.
func pullOperator(path string, operand any, _ Limits) (changeFunc, error) {
	meets, err := itemTest(operand)
	if err != nil {
		return nil, Refuse(BadQuery, "$pull of %s: %s", path, err)
	}
	return func(e *budget, have any) (any, error) {
		if value.IsNothing(have) {
			return have, nil
		}
		list, ok := have.([]any)
		if !ok {
			return nil, Refuse(Validation, "$pull of %s, which is %s", path, value.TypeName(have))
		}
		remaining := []any{}
		for _, item := range list {
			matches, spent, err := meets(item)
			if err != nil {
				return nil, Refuse(BadQuery, "$pull of %s: %s", path, err)
			}
			if err := e.spend(spent); err != nil {
				return nil, err
			}
			if !matches {
				remaining = append(remaining, item)
			}
		}
		return remaining, nil
	}, nil
}

// itemTest reports whether an item of a list equals a value, or meets a condition of
// operators on itself or of fields; and the cost.
func itemTest(operand any) (func(item any) (fits bool, spent int, err error), error) {
	cond, ok := operand.(*value.Object)
	if !ok {
		cond = value.NewObject("$eq", operand)
	}
	onFields := !slices.ContainsFunc(cond.Keys(), func(key string) bool { return strings.HasPrefix(key, "$") })
	if !onFields {
		cond = value.NewObject("v", cond)
	}
	m, err := expr.CompileMatcher(cond, false)
	if err != nil {
		return nil, err
	}
	return func(item any) (bool, int, error) {
		if !onFields {
			if _, list := item.([]any); list && !ok {
				return value.StrictEqual(item, operand), 1, nil // a list that contains the value is another one
			}
			item = value.NewObject("v", item)
		}
		return m.MatchWithin(item, matchSteps)
	}, nil
}

// changeAtPath returns v with the value at a path replaced by the result of do. Missing objects
// are created; a list can grow by one item.
func changeAtPath(e *budget, v any, path []string, do changeFunc) (any, error) {
	if len(path) == 0 {
		return do(e, v)
	}
	switch have := v.(type) {
	case *value.Object:
		next, err := changeAtPath(e, have.At(path[0]), path[1:], do)
		if err != nil {
			return nil, err
		}
		return withMember(have, path[0], next), e.spend(have.Len())
	case []any:
		return amendItem(e, have, path, do)
	}
	if !value.IsNothing(v) {
		return nil, Refuse(Validation, "there is %s where %s would be", value.TypeName(v), path[0])
	}
	next, err := changeAtPath(e, value.Undefined, path[1:], do)
	if err != nil || value.IsUndefined(next) {
		return v, err
	}
	return value.NewObject(path[0], next), nil
}

func amendItem(e *budget, list []any, path []string, do changeFunc) (any, error) {
	i, ok := value.Index(path[0])
	if !ok || i > len(list) {
		return nil, Refuse(Validation, "a list of %d items has no item %s", len(list), path[0])
	}
	have := value.Undefined
	if i < len(list) {
		have = list[i]
	}
	next, err := changeAtPath(e, have, path[1:], do)
	if err != nil {
		return nil, err
	}
	if err := e.spend(len(list)); err != nil {
		return nil, err
	}
	list = slices.Clone(list)
	switch {
	case i < len(list) && value.IsUndefined(next):
		list[i] = nil
	case i < len(list):
		list[i] = next
	case !value.IsUndefined(next):
		list = append(list, next)
	}
	return list, nil
}

// withMember returns o with v at key; without the key when v is undefined.
func withMember(o *value.Object, key string, v any) *value.Object {
	if !value.IsUndefined(v) {
		next := o.Copy()
		next.Set(key, v)
		return next
	}
	next := &value.Object{}
	for _, other := range o.Keys() {
		if other != key {
			next.Set(other, o.At(other))
		}
	}
	return next
}
