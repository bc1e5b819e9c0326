package pages

import (
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"

	"svc/domain/page"
	"svc/domain/value"
)

// formState is what was entered in a form that is shown again.
type formState struct {
	values *value.Object
	faults map[string]string // by field
}

// field is a field of a form as it is shown.
type field struct {
	Control                                         string // group, choices, checkbox, select, textarea, file, block, or the type of an input
	Key, Name, Label, Description, Fault, Described string
	Value, Placeholder, Pattern, Accept, List       string
	Min, Max, Step, MinLength, MaxLength            string
	Autocomplete                                    string
	Required, Disabled, Checked, Multiple           bool
	AutoFocus                                       bool
	Options                                         []option
	Fields                                          []field
	Block                                           template.HTML
}

// option is a value to choose as it is shown.
type option struct {
	Type, Value, Label  string
	Selected, AutoFocus bool
}

func showForm(c config, root root) template.HTML {
	if c.inner != nil {
		return c.showError(root, "a form cannot be inside of a form")
	}
	form := page.FormFields(c.at("schema"))
	state := c.forms[c.block.Path]
	values, _ := c.at("values").(*value.Object)
	if state != nil {
		values = state.values
	} else {
		state = &formState{}
	}
	show := formView{config: c, state: state}
	var fields []field
	var inner []action
	c.inner = &inner
	for _, f := range form.Fields {
		fields = append(fields, show.field(f, f.Name, values.At(f.Name)))
	}
	c.inner = nil
	switch {
	case len(state.faults) > 0:
		focusFirst(fields, true)
	case c.isSet("autoFocus"):
		focusFirst(fields, false)
	}
	submit := hookOf(c, c.at("onSubmit"))
	submit.form, submit.disabled = form, c.isSet("disabledSubmit")
	c.addHook(c.block, "onSubmit", submit)
	onChange := ""
	if h := hookOf(c, c.at("onChange")); h.event != "" {
		h.form = form
		c.addHook(c.block, "onChange", h)
		onChange = "onChange"
	}
	delay := ""
	if ms := c.number("disableSubmitDelay", 0); ms > 0 {
		delay = strconv.Itoa(int(ms))
	}
	title := c.text("title")
	return c.execute("Form", map[string]any{
		"Root": root, "Title": c.heading(2), "Label": orElse(title, c.texts.Submit), "Collapsed": c.isSet("collapsed"), "Faulty": len(state.faults) > 0,
		"Base": c.site.base, "View": c.viewID, "Block": c.block.Path, "On": "onSubmit", "Confirm": nil, "OnChange": onChange, "Delay": delay,
		"Fields": fields, "Uploads": hasUploads(form), "Inner": inner, "HideSubmit": c.isSet("hideSubmit"), "Disabled": submit.disabled || submit.event == "" || c.inert,
		"Submit": orElse(c.text("submitLabel"), c.texts.Submit), "Buttons": c.actions("buttons"), "Texts": c.texts,
	})
}

// hasUploads reports whether files can be sent with a form. Only such a form is multipart, which has few parts.
func hasUploads(f *page.Field) bool {
	return f.IsUpload() || f.Items != nil && hasUploads(f.Items) || slices.ContainsFunc(f.Fields, hasUploads)
}

// focusFirst gives the focus to the first field, or to the first one with a fault, and reports whether there is one.
func focusFirst(fields []field, faulty bool) bool {
	for i := range fields {
		f := &fields[i]
		inside := faulty && f.Fault == ""
		switch {
		case f.Control == "group":
			if focusFirst(f.Fields, inside) {
				return true
			}
		case inside || f.Control == "block":
		case f.Control == "choices" && len(f.Options) > 0:
			f.Options[0].AutoFocus = true
			return true
		default:
			f.AutoFocus = true
			return true
		}
	}
	return false
}

// formView shows the fields of a form.
type formView struct {
	config
	state *formState
}

// field returns a field as it is shown; name has the indexes of the lists that it is in.
func (v formView) field(f *page.Field, name string, given any) field {
	if value.IsNothing(given) && v.state.values == nil {
		given = f.Default
	}
	last := name[strings.LastIndexAny(name, ".")+1:]
	shown := field{
		Name: name, Key: identifier("f-" + v.block.Path + "-" + name), Label: orElse(v.textOf(f.Label), last), Description: v.textOf(f.Description),
		Placeholder: v.textOf(f.Placeholder), Fault: v.state.faults[name], Required: f.Required, Disabled: f.Disabled || v.inert,
	}
	var described []string
	if shown.Fault != "" {
		described = append(described, shown.Key+"-fault")
	}
	if shown.Description != "" {
		described = append(described, shown.Key+"-hint")
	}
	shown.Described = strings.Join(described, " ")
	switch {
	case f.Widget == "block" && f.Block != nil:
		shown.Control, shown.Block = "block", v.rendering.block(f.Block)
	case f.IsUpload():
		shown.Control, shown.Accept, shown.Multiple = "file", f.Accept, f.Multiple
	case f.Type == "object":
		shown.Control = "group"
		o, _ := given.(*value.Object)
		for _, child := range f.Fields {
			key := child.Name[strings.LastIndexByte(child.Name, '.')+1:]
			shown.Fields = append(shown.Fields, v.field(child, name+"."+key, o.At(key)))
		}
	case f.Type == "array":
		v.showArray(&shown, f, name, given)
	case f.Type == "localized":
		shown.Control = "group"
		o, _ := given.(*value.Object)
		for _, tag := range v.languages(o) {
			child := &page.Field{Type: "string", Label: tag, Widget: f.Widget, MaxLength: f.MaxLength, Disabled: f.Disabled}
			shown.Fields = append(shown.Fields, v.field(child, name+"."+tag, o.At(tag)))
		}
	case f.Type == "boolean":
		shown.Control, shown.Checked = "checkbox", given == true || given == "true" || given == "on"
	case len(f.Options) > 0 && f.Widget == "radio":
		shown.Control = "choices"
		shown.Options = v.options(f, "radio", given)
	case len(f.Options) > 0 && f.Widget != "autocomplete":
		shown.Control = "select"
		shown.Options = v.options(f, "", given)
	default:
		v.showInput(&shown, f, given)
	}
	return shown
}

// languages are those that a text by language can be entered in.
func (v formView) languages(o *value.Object) []string {
	tags := []string{v.view.Language.Tag}
	for _, tag := range append(slices.Clone(v.view.Document.Languages), o.Keys()...) {
		if !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	return tags
}

func (v formView) options(f *page.Field, kind string, given any) (list []option) {
	chosen, _ := given.([]any)
	for _, o := range f.Options {
		text := value.Text(o.Value)
		selected := !value.IsNothing(given) && value.Text(given) == text ||
			slices.ContainsFunc(chosen, func(one any) bool { return value.Text(one) == text })
		list = append(list, option{Type: kind, Value: text, Label: orElse(v.textOf(o.Label), text), Selected: selected})
	}
	return list
}

// showArray shows a list: check boxes for a choice, else one field per entry and one more.
func (v formView) showArray(shown *field, f *page.Field, name string, given any) {
	list, _ := given.([]any)
	if len(f.Items.Options) > 0 {
		shown.Control, shown.Name = "choices", name+"[]"
		shown.Options = v.options(f.Items, "checkbox", given)
		return
	}
	shown.Control = "group"
	for i := range len(list) + 1 {
		item := value.Undefined
		if i < len(list) {
			item = list[i]
		}
		child := *f.Items
		child.Required = false
		child.Label = strconv.Itoa(i + 1)
		one := v.field(&child, fmt.Sprintf("%s[%d]", name, i), item)
		shown.Fields = append(shown.Fields, one)
	}
}

// showInput shows a field with an input of its own.
func (v formView) showInput(shown *field, f *page.Field, given any) {
	shown.Control, shown.Value = "text", v.textOf(given)
	number := func(n *float64) string {
		if n == nil {
			return ""
		}
		return value.Text(*n)
	}
	switch {
	case f.Widget == "textarea":
		shown.Control = "textarea"
	case f.IsSecret():
		shown.Control, shown.Value, shown.Autocomplete = "password", "", "current-password"
	case f.Widget == "color":
		shown.Control = "color"
		shown.Value = orElse(shown.Value, "#000000")
	case f.Widget == "date" || f.Format == "date":
		shown.Control = "date"
		shown.Value = shown.Value[:min(len(shown.Value), 10)]
	case f.Format == "email":
		shown.Control, shown.Autocomplete = "email", "email"
	case f.Format == "tel":
		shown.Control, shown.Autocomplete = "tel", "tel"
	case f.Type == "number" || f.Type == "integer":
		shown.Control, shown.Min, shown.Max, shown.Step = "number", number(f.Min), number(f.Max), "any"
		if f.Type == "integer" {
			shown.Step = "1"
		}
	}
	if f.Widget == "autocomplete" && len(f.Options) > 0 {
		shown.List = shown.Key + "-list"
		shown.Options = v.options(f, "", value.Undefined)
	}
	if f.MinLength > 0 {
		shown.MinLength = strconv.Itoa(f.MinLength)
	}
	if f.MaxLength > 0 {
		shown.MaxLength = strconv.Itoa(f.MaxLength)
	}
	shown.Pattern = f.Pattern
}
