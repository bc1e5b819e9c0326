package expr_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/automation/expr"
	"svc/domain/automation/value"
)

// errMissing says that a variable must have a value.
type errMissing struct{}

func (errMissing) Error() string   { return "missing" }
func (errMissing) IsMissing() bool { return true }

// locked is a World whose variable must has no value.
type locked struct{ expr.Given }

// Read implements expr.World.
func (l locked) Read(keys []string) (any, error) {
	if keys[0] == "must" {
		return value.Undefined, errMissing{}
	}
	return l.Given.Read(keys)
}

// What has no value may be asked for, and cannot be used.
func TestAVariableThatMustHaveAValue(t *testing.T) {
	t.Parallel()
	env := func() *expr.Env { return &expr.Env{World: locked{expr.Given{Vars: &value.Object{}}}} }
	for condition, want := range map[string]bool{
		"{{must.a}}":                              false,
		"not {{must.a}}":                          true,
		"!{{must.a}}":                             true,
		"{{must.a}} exists":                       false,
		"{{must.a}} not exists":                   true,
		"isString({{must.a}})":                    false,
		"{{must.a}} == null":                      true,
		"undefined !== {{must.a}}":                false,
		"{{must.a}} or 1":                         true,
		"1 and {{must.a}}":                        false,
		"{{must.a}} and {{must.a}} == {{other}}":  false,
		"({{must.a}} or {{must.b}}) and 1":        false,
		"{% {{must.a}} %}":                        false,
		"{{other[{{must.a}}]}} exists":            false, // it is part of what is asked for
		"{{must.a}} exists and {{must.a}} == 'x'": false,
	} {
		c, err := expr.ParseCondition(condition)
		require.NoError(t, err, condition)
		got, err := c.Eval(env())
		require.NoError(t, err, condition)
		require.Equal(t, want, got, condition)
	}
	for template, want := range map[string]string{
		`{% {{must.a}} or "d" %}`:    `"d"`,
		`{% {{must.a}} exists %}`:    `false`,
		`{% isString({{must.a}}) %}`: `false`,
	} {
		parsed, err := expr.ParseTemplate(template)
		require.NoError(t, err)
		v, err := parsed.Eval(env())
		require.NoError(t, err, template)
		require.Equal(t, want, value.JSON(v, ""), template)
	}
	for _, template := range []string{
		"{{must.a}}", "Bearer {{must.a}}", `{% {{must.a}} == {{other}} %}`, `{% {{must.a}} == "" %}`, `{% "a" + {{must.a}} %}`, `{% lower({{must.a}}) %}`,
		`{% {{other}} or {{must.a}} %}`, `{% [{{must.a}}] %}`, `{{other[{{must.a}}]}}`, `{% {{must.a}} in [1] %}`,
	} {
		parsed, err := expr.ParseTemplate(template)
		require.NoError(t, err)
		_, err = parsed.Eval(env())
		require.ErrorIs(t, err, errMissing{}, template)
	}
}
