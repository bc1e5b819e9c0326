package variable_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/automation"
	"svc/domain/automation/expr"
	"svc/domain/automation/variable"
	"svc/domain/value"
)

// step is one operation of a case: its path is written as in a document, an empty
// one is the whole value. Values are JSON; an empty one is undefined.
type step struct {
	kind  variable.Kind
	path  string
	value string
}

func parsed(t *testing.T, text string) any {
	t.Helper()
	if text == "" {
		return value.Undefined
	}
	v, err := value.ParseJSON(text)
	require.NoError(t, err, text)
	return v
}

func path(t *testing.T, text string) []expr.Step {
	t.Helper()
	if text == "" {
		return nil
	}
	steps, ok := expr.PlainPath(text)
	require.True(t, ok, text)
	return steps
}

func isInJSON(v any) string {
	if value.IsUndefined(v) {
		return ""
	}
	return value.JSON(v, "")
}

func TestApply(t *testing.T) {
	t.Parallel()
	const r, m, p, d = variable.Replace, variable.Merge, variable.Push, variable.Delete
	for name, test := range map[string]struct {
		old  string
		op   step
		want string
	}{
		"a key is set":                                {`{"a":1}`, step{r, "b", `2`}, `{"a":1,"b":2}`},
		"a key that exists keeps its place":           {`{"a":1,"b":2}`, step{r, "a", `3`}, `{"a":3,"b":2}`},
		"the whole value is replaced":                 {`{"a":1}`, step{r, "", `[1]`}, `[1]`},
		"null is a value":                             {`{"a":1}`, step{r, "a", `null`}, `{"a":null}`},
		"missing parents are made":                    {``, step{r, "a[0].b", `1`}, `{"a":[{"b":1}]}`},
		"null parents count as missing":               {`{"a":null}`, step{r, "a.b", `1`}, `{"a":{"b":1}}`},
		"digits after a dot make an object":           {``, step{r, "r.7", `1`}, `{"r":{"7":1}}`},
		"digits in brackets make a list":              {``, step{r, "r[2]", `1`}, `{"r":[null,null,1]}`},
		"digits in brackets are a key of an object":   {`{"r":{}}`, step{r, "r[2]", `1`}, `{"r":{"2":1}}`},
		"digits after a dot are an index of a list":   {`{"r":[1]}`, step{r, "r.0", `2`}, `{"r":[2]}`},
		"an item inside a list is set":                {`[[1,2],[3]]`, step{r, "0[1]", `9`}, `[[1,9],[3]]`},
		"an index at the end appends":                 {`{"r":[1]}`, step{r, "r[1]", `2`}, `{"r":[1,2]}`},
		"undefined unsets a key":                      {`{"a":1,"b":2}`, step{r, "a", ``}, `{"b":2}`},
		"undefined unsets the whole":                  {`{"a":1}`, step{r, "", ``}, ``},
		"undefined leaves other items in their place": {`{"r":[1,2,3]}`, step{r, "r[1]", ``}, `{"r":[1,null,3]}`},
		"undefined makes no parents":                  {`{}`, step{r, "a.b", ``}, `{}`},
		"undefined past the end does nothing":         {`{"r":[]}`, step{r, "r[3]", ``}, `{"r":[]}`},
		"undefined below a scalar does nothing":       {`{"r":5}`, step{r, "r.a", ``}, `{"r":5}`},

		"push appends the value as one item":  {`{"r":[1]}`, step{p, "r", `[1]`}, `{"r":[1,[1]]}`},
		"push to what is absent makes a list": {`{}`, step{p, "r", `1`}, `{"r":[1]}`},
		"push to null makes a list":           {`{"r":null}`, step{p, "r", `null`}, `{"r":[null]}`},
		"push to an empty list":               {`{"r":[]}`, step{p, "r", `1`}, `{"r":[1]}`},
		"push to the whole":                   {``, step{p, "", `1`}, `[1]`},
		"push makes parents":                  {`{}`, step{p, "a.b[1]", `1`}, `{"a":{"b":[null,[1]]}}`},
		"push of undefined does nothing":      {`{"r":5}`, step{p, "r", ``}, `{"r":5}`},

		"merge replaces what is absent":             {`{}`, step{m, "r.a", `{"a":1}`}, `{"r":{"a":{"a":1}}}`},
		"merge replaces null":                       {`{"r":null}`, step{m, "r", `1`}, `{"r":1}`},
		"merge replaces a scalar":                   {`{"r":"s"}`, step{m, "r", `[1]`}, `{"r":[1]}`},
		"merge concatenates lists":                  {`{"r":[1]}`, step{m, "r", `[2,3]`}, `{"r":[1,2,3]}`},
		"merge of an empty list changes nothing":    {`{"r":[1]}`, step{m, "r", `[]`}, `{"r":[1]}`},
		"merge into an empty list":                  {`{"r":[]}`, step{m, "r", `[1,2]`}, `{"r":[1,2]}`},
		"merge appends a scalar to a list":          {`{"r":[1]}`, step{m, "r", `"s"`}, `{"r":[1,"s"]}`},
		"merge appends null to a list":              {`{"r":[1]}`, step{m, "r", `null`}, `{"r":[1,null]}`},
		"merge appends an object to a list":         {`{"r":[1]}`, step{m, "r", `{"five":5}`}, `{"r":[1,{"five":5}]}`},
		"merge of objects is shallow":               {`{"r":{"a":{"x":1},"b":1}}`, step{m, "r", `{"c":2,"a":{"y":2}}`}, `{"r":{"a":{"y":2},"b":1,"c":2}}`},
		"merge into an empty object":                {`{}`, step{m, "", `{"c":2,"a":1}`}, `{"c":2,"a":1}`},
		"merge of a scalar leaves an object":        {`{"r":{"a":1}}`, step{m, "r", `"s"`}, `{"r":{"a":1}}`},
		"merge of a list leaves an object":          {`{"r":{"a":1}}`, step{m, "r", `[]`}, `{"r":{"a":1}}`},
		"merge of null leaves an object":            {`{"r":{"a":1}}`, step{m, "r", `null`}, `{"r":{"a":1}}`},
		"merge of undefined does nothing":           {`{"r":5}`, step{m, "r", ``}, `{"r":5}`},
		"merge of undefined makes nothing":          {``, step{m, "r", ``}, ``},
		"delete removes a key":                      {`{"a":1,"b":2}`, step{d, "a", ``}, `{"b":2}`},
		"delete removes the last key":               {`{"a":{"b":2}}`, step{d, "a.b", ``}, `{"a":{}}`},
		"delete of an item closes the gap":          {`{"r":[1,2,3]}`, step{d, "r[1]", ``}, `{"r":[1,3]}`},
		"delete of the only item":                   {`{"r":[1]}`, step{d, "r[0]", ``}, `{"r":[]}`},
		"delete inside an item":                     {`{"r":[{"a":1,"b":2}]}`, step{d, "r[0].a", ``}, `{"r":[{"b":2}]}`},
		"delete of what is absent does nothing":     {`{"a":1}`, step{d, "b.c", ``}, `{"a":1}`},
		"delete past the end does nothing":          {`{"r":[1]}`, step{d, "r[1]", ``}, `{"r":[1]}`},
		"delete of a word in a list does nothing":   {`{"r":[1]}`, step{d, "r.a", ``}, `{"r":[1]}`},
		"delete below a scalar does nothing":        {`{"r":"s"}`, step{d, "r[0]", ``}, `{"r":"s"}`},
		"delete of the whole":                       {`{"a":1}`, step{d, "", ``}, ``},
		"delete ignores its value":                  {`{"a":1}`, step{d, "a", `7`}, `{}`},
		"delete in what is absent leaves it absent": {``, step{d, "a", ``}, ``},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			old := parsed(t, test.old)
			op := variable.Op{Kind: test.op.kind, Path: path(t, test.op.path), Value: parsed(t, test.op.value)}
			got, grown, err := variable.Change(old, op)
			require.NoError(t, err)
			require.Equal(t, test.want, isInJSON(got))
			require.Equal(t, variable.Size(got)-variable.Size(old), grown)
			require.Equal(t, test.old, isInJSON(old), "the old value is changed")
		})
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	const r, m, p = variable.Replace, variable.Merge, variable.Push
	deep := strings.Repeat("[", 1000) + strings.Repeat("]", 1000)
	for name, test := range map[string]struct {
		old     string
		op      step
		message string
	}{
		"an index far past the end": {`{}`, step{r, "r[1001]", `1`}, `cannot set r[1001]: "1001" is more than 1000 past the end of the list`},
		"an index past a list":      {`{"r":[1]}`, step{r, "r[1002]", `1`}, `cannot set r[1002]: "1002" is more than 1000 past the end of the list`},
		"a word in a list":          {`{"r":[1]}`, step{m, "r.a.b", `1`}, `cannot set r.a.b: "a" is no index of a list`},
		"an endless index":          {`{"r":[1]}`, step{r, "r[12345678901]", `1`}, `cannot set r.12345678901: "12345678901" is no index of a list`},
		"a scalar as parent":        {`{"r":5}`, step{r, "r.a", `1`}, `cannot set r.a: "a" would be in a value of type number`},
		"a text as parent":          {`{"r":"s"}`, step{p, "r[0]", `1`}, `cannot set r[0]: "0" would be in a value of type string`},
		"push to a scalar":          {`{"r":false}`, step{p, "r", `1`}, `cannot push to r: its type is boolean, not array`},
		"push to an object":         {`{}`, step{p, "", `1`}, `cannot push to the whole context: its type is object, not array`},
		"nested too deeply":         {`{}`, step{r, "r", deep}, `a variable may be nested 1000 levels deep at most`},
		"no such operation":         {`{}`, step{9, "r", `1`}, `there is no operation 9 on a variable`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			old := parsed(t, test.old)
			got, err := variable.Apply(old, variable.Op{Kind: test.op.kind, Path: path(t, test.op.path), Value: parsed(t, test.op.value)})
			var raised *automation.Error
			require.ErrorAs(t, err, &raised)
			require.Equal(t, automation.InvalidInstruction, raised.Name)
			require.Equal(t, test.message, raised.Message)
			require.Equal(t, old, got, "what is refused changes nothing")
		})
	}
}

func TestTheLargestGapIsFilled(t *testing.T) {
	t.Parallel()
	got, err := variable.Apply(value.Undefined, variable.Op{Path: path(t, "r[1000]"), Value: true})
	require.NoError(t, err)
	list, _ := value.Walk(got, "r").([]any)
	require.Len(t, list, 1001)
	require.Nil(t, list[999])
	require.Equal(t, true, list[1000])
}

func TestListsThatShareABeginningStayApart(t *testing.T) {
	t.Parallel()
	shared := append(make([]any, 0, 8), "a")
	one, err := variable.Apply(shared, variable.Op{Kind: variable.Push, Value: "b"})
	require.NoError(t, err)
	two, err := variable.Apply(shared, variable.Op{Kind: variable.Push, Value: "c"})
	require.NoError(t, err)
	require.Equal(t, []any{"a", "b"}, one)
	require.Equal(t, []any{"a", "c"}, two)
}

func TestWhatLiesBesideThePathIsShared(t *testing.T) {
	t.Parallel()
	beside := value.NewObject("big", "x")
	old := value.NewObject("a", value.NewObject("b", 1.0), "beside", beside)
	got, err := variable.Apply(old, variable.Op{Path: path(t, "a.b"), Value: 2.0})
	require.NoError(t, err)
	require.Same(t, beside, value.Walk(got, "beside"))
	require.JSONEq(t, `{"a":{"b":1},"beside":{"big":"x"}}`, value.JSON(old, ""))
}
