//go:build e2e

package e2e

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/stretchr/testify/require"
)

//go:embed testdata/xss.txt
var attackLines string

// attacks are attempts to run a script.
func attacks(t *testing.T) (list []string) {
	t.Helper()
	for line := range strings.Lines(attackLines) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "# ") {
			continue
		}
		text := line
		if strings.HasPrefix(line, `"`) {
			require.NoError(t, json.Unmarshal([]byte(line), &text), line)
		}
		list = append(list, text)
	}
	require.Greater(t, len(list), 300)
	return list
}

// watchForScripts notes every script that runs although it must not.
const watchForScripts = `for (const name of ['alert', 'confirm', 'prompt', 'print', 'msgbox']) window[name] = () => console.error('a script of an attack has run in ' + location.href)`

// foundAttacks returns what is left of attacks in the page: what could run, load or reach outside.
const foundAttacks = `(() => {
	const found = [];
	const report = (e, why) => { if (found.length < 20) found.push(why + ': ' + e.outerHTML.slice(0, 200)) };
	const forbidden = 'iframe, frame, frameset, object, embed, applet, portal, base, style, math, template, noscript, video, audio, source, track, marquee, foreignObject, use, animate, set, image, handler, xmp, plaintext, meta[http-equiv], [style], [srcdoc], [srcset], [formaction], [background], [poster], [ping], [xlink\\:href], [popovertarget]';
	document.querySelectorAll(forbidden).forEach((e) => report(e, 'is not allowed'));
	for (const e of document.querySelectorAll('*')) {
		if (e.localName === 'script' && !/^[^?#]*\/_svc\/assets\/pages-[0-9a-f]+\.js$/.test(e.src)) report(e, 'is a script');
		if (e.localName === 'link' && !/icon|canonical/.test(e.rel) && !/\/_svc\/assets\/(pages|style)-[0-9a-f]+\.css$/.test(e.href)) report(e, 'is a link');
		if (e.localName === 'form' && !/\/_svc\/(events|signout)$/.test(e.action)) report(e, 'is a form');
		if (e.shadowRoot) report(e, 'has a shadow root');
		if (e.localName === 'svg' && !e.parentElement.classList.contains('svc-plot')) report(e, 'is a drawing');
		if (/svc-page|svc-toasts|svc-alerts/.test(e.id) && document.getElementById(e.id) !== e) report(e, 'has an id of the platform');
		for (const { name, value } of e.attributes) {
			if (/^on/i.test(name)) report(e, 'has the handler ' + name);
			if (!/^(href|src|action|cite|data|manifest|longdesc)$/i.test(name)) continue;
			const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(value.replace(/[\u0000-\u0020\u007f-\u00a0\u00ad\u200b\ufeff]/g, ''))?.[1].toLowerCase();
			const image = e.localName === 'img' && /^data:image\/(png|jpe?g|gif|webp|avif);base64,/i.test(value);
			if (scheme && !['http', 'https', 'mailto', 'tel'].includes(scheme) && !image) report(e, 'has the scheme ' + scheme);
		}
		if (e.localName === 'a' && e.href && !['http:', 'https:', 'mailto:', 'tel:'].includes(e.protocol)) report(e, 'leads to ' + e.protocol);
	}
	const walk = (rules, own) => {
		for (const rule of rules) {
			if (rule instanceof CSSImportRule) found.push('imports ' + rule.href);
			if (own && rule.selectorText && !rule.selectorText.split(/,(?![^(]*\))/).every((s) => /^\s*(#svc-page|\.svc-css-[0-9a-f]{12})(?![\w-])/.test(s)) && !(rule.parentRule instanceof CSSKeyframesRule)) found.push('reaches outside: ' + rule.cssText);
			if (own && /url\(\s*["']?(?!https:|data:image\/(png|jpe?g|gif|webp|avif)[;,])(\/\/|[a-z]+:)/i.test(rule.cssText) && !rule.cssRules?.length) found.push('loads: ' + rule.cssText);
			if (rule.cssRules) walk(rule.cssRules, own);
		}
	};
	for (const sheet of document.styleSheets) walk(sheet.cssRules, /\/style-/.test(sheet.href));
	if (window.length > 0) found.push('has frames');
	return found;
})()`

// Section 8 of the contract: a corpus of attacks at every place where a value enters a page. None of them runs, and none
// leaves anything in the page that could: the checks of the tab fail on violations of the policy and on requests
// elsewhere, too.
func TestPagesRunNoScriptOfAttackers(t *testing.T) {
	t.Parallel()
	s := sharedService(t).person(t, "Ada").site(t, "Attacked")
	all := attacks(t)
	// Images over http are allowed, and stopped by the policy: their requests do not leave the browser.
	b := s.s.open(t).allow(`directive: "img-src 'self' https: data:"`).allow("request to another host: http://")
	call(b, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: watchForScripts})
	check := func(where string) {
		t.Helper()
		require.Empty(t, eval[[]string](b, foundAttacks), where)
	}
	visit := func(path, where string) {
		t.Helper()
		b.visitPage(s, path)
		b.await(`document.readyState === 'complete' && document.querySelector('#the-end')`, where)
		check(where)
	}
	end := map[string]any{"slug": "RichText", "sectionId": "the-end", "content": "the end"}
	type object = map[string]any

	// Every field of every block, for each attack.
	fields := []any{
		object{"slug": "Header", "title": "{{item}}", "className": "{{item}}", "sectionId": "{{item}}", "logo": object{"src": "{{item}}", "alt": "{{item}}", "action": object{"type": "external", "value": "{{item}}"}}, "nav": []any{object{"text": "{{item}}", "type": "internal", "value": "{{item}}"}, object{"text": "x", "type": "inside", "value": "{{item}}"}, object{"text": "x", "type": "{{item}}", "value": "{{item}}"}}},
		object{"slug": "Hero", "title": "{{item}}", "lead": "{{item}}", "img": object{"src": "{{item}}", "alt": "{{item}}"}, "content": "{{item}}"},
		object{"slug": "RichText", "content": "{{item}}"}, object{"slug": "RichText", "content": "{{item}}", "markdown": false, "tag": "{{item}}"},
		object{"slug": "RichText", "content": "a {{item}} *b* [c]({{item}}) <p title='{{item}}'>{{item}}</p> <a href=\"{{item}}\">d</a> ![e]({{item}})"},
		object{"slug": "RichText", "content": "<b title={{item}} class=\"{{item}}\">{{item}}</b><img src={{item}}>", "markdown": false},
		object{"slug": "Image", "src": "{{item}}", "alt": "{{item}}", "caption": "{{item}}", "width": "{{item}}", "action": object{"type": "external", "value": "{{item}}"}},
		object{"slug": "Buttons", "buttons": []any{object{"text": "{{item}}", "type": "event", "value": "{{item}}", "icon": "{{item}}", "theme": "{{item}}", "confirm": object{"label": "{{item}}", "yesLabel": "{{item}}"}}, object{"text": "{{item}}", "type": "upload", "value": "x", "accept": "{{item}}"}, object{"text": "{{item}}", "type": "menu", "items": []any{object{"text": "{{item}}", "type": "external", "value": "{{item}}"}}}, object{"text": "x", "type": "script", "value": "{{item}}"}}},
		object{"slug": "Form", "title": "{{item}}", "onSubmit": "x", "submitLabel": "{{item}}", "values": object{"a": "{{item}}", "t": "{{item}}"}, "schema": object{"type": "object", "properties": object{"a": object{"type": "string", "title": "{{item}}", "description": "{{item}}", "placeholder": "{{item}}", "pattern": "{{item}}", "ui:widget": "{{item}}"}, "t": object{"type": "string", "ui:widget": "textarea", "title": "{{item}}"}, "e": object{"type": "string", "enum": []any{"{{item}}"}, "default": "{{item}}"}}}},
		object{"slug": "DataTable", "title": "{{item}}", "data": []any{object{"a": "{{item}}", "{{item}}": 1}, object{"a": "{{item}}"}}, "columns": []any{object{"label": "{{item}}", "key": "a", "format": "x ${a}"}, object{"label": "h", "key": "a", "type": "html"}, object{"label": "m", "key": "a", "type": "markdown"}, object{"label": "i", "key": "a", "type": "image"}, object{"label": "d", "key": "a", "type": "date", "format": "{{item}}"}, object{"label": "l", "actions": []any{object{"text": "${a}", "type": "external", "value": "${a}"}, object{"text": "${a}", "type": "internal", "value": "${a}"}}}}},
		object{"slug": "Cards", "title": "{{item}}", "variant": "{{item}}", "cards": []any{object{"title": "{{item}}", "description": "{{item}}", "cover": "{{item}}", "content": "{{item}}", "action": object{"text": "{{item}}", "type": "external", "value": "{{item}}"}}}},
		object{"slug": "TabsView", "tabs": []any{object{"text": "{{item}}", "content": "{{item}}"}}}, object{"slug": "Collapse", "items": []any{object{"label": "{{item}}", "content": "{{item}}"}}},
		object{"slug": "Charts", "title": "{{item}}", "type": "column", "config": object{"unit": "{{item}}"}, "data": []any{[]any{"{{item}}", "{{item}}"}, []any{"{{item}}", 3}}}, object{"slug": "Charts", "type": "pie", "data": []any{[]any{"a", "b"}, []any{"{{item}}", 3}}},
		object{"slug": "KPI", "title": "{{item}}", "value": "{{item}}", "unit": "{{item}}", "trend": "{{item}}", "description": "{{item}}", "format": "{{item}}"},
		object{"slug": "Modal", "title": "{{item}}", "button": "{{item}}"}, object{"slug": "Signin", "label": "{{item}}", "redirect": "{{item}}"}, object{"slug": "Loading", "text": "{{item}}", "size": "{{item}}"},
		object{"slug": "Breadcrumbs", "links": []any{object{"text": "{{item}}", "value": "{{item}}", "type": "external"}, object{"text": "{{item}}", "value": "{{item}}"}}}, object{"slug": "Footer", "content": "{{item}}"},
	}
	places := object{"slug": "BlocksList", "repeat": object{"on": "{{list}}"}, "blocks": fields}
	// Where the value comes from makes no difference to most fields: of those, one of each kind is enough.
	few := object{"slug": "BlocksList", "repeat": object{"on": "{{list}}"}, "blocks": []any{
		object{"slug": "RichText", "content": "{{item}}"}, object{"slug": "RichText", "content": "{{item}}", "markdown": false}, object{"slug": "RichText", "content": "a {{item}} [b]({{item}}) <p title='{{item}}'>"},
		object{"slug": "Image", "src": "{{item}}", "alt": "{{item}}", "action": object{"type": "external", "value": "{{item}}"}}, object{"slug": "KPI", "title": "{{item}}", "value": "{{item}}", "className": "{{item}}"},
	}}

	// In the stored page: as values of templates, as literals, as names and as styles.
	name := slices.DeleteFunc(slices.Clone(all), func(attack string) bool { return !strings.HasPrefix(attack, "</") })
	description := []rune(strings.Join(all, " "))
	for i, part := range slices.Collect(slices.Chunk(all, 155)) {
		slug := fmt.Sprintf("stored-%d", i)
		blocks := []any{object{"slug": "BlocksList", "list": part, "blocks": []any{places}}}
		for _, attack := range part {
			blocks = append(blocks, object{"slug": "RichText", "content": attack, "css": attack}, object{"slug": "RichText", "content": attack, "markdown": false})
		}
		s.page(t, object{"slug": slug, "name": strings.Join(name, "")[:500], "description": string(description[len(description)-10_000:]), "styles": strings.Join(part, "\n"), "blocks": append(blocks, end)})
		visit("/"+slug, "stored")
	}

	// In the query.
	s.page(t, object{"slug": "query", "name": "Query", "blocks": []any{object{"slug": "BlocksList", "list": "{{SYSTEM.query.q}}", "blocks": []any{few}}, end}})
	for part := range slices.Chunk(all, 60) {
		visit("/query?"+url.Values{"q": part}.Encode(), "query")
	}

	// In the output of an automation.
	s.automation(t, "slug: load\nname: Load\ndo: []\noutput: {list: '{{list}}'}\n")
	s.page(t, object{"slug": "output", "name": "Output", "automation": object{"slug": "load", "payload": object{"list": all}}, "blocks": []any{few, end}})
	visit("/output", "output of an automation")

	// In an event, which arrives as a patch, as a toast, as a notification and as where to go.
	s.page(t, object{"slug": "event", "name": "Event", "notifyOn": "noted", "blocks": []any{
		object{"slug": "BlocksList", "updateOn": "changed", "list": []any{}, "blocks": []any{few}}, object{"slug": "BlocksList", "updateOn": "changed.blocks"},
		object{"slug": "Toast", "toastOn": "told"}, object{"slug": "Button", "text": "Who am I", "type": "event", "value": "asked"}, end,
	}})
	visit("/event", "before the event")
	b.awaitLive()
	session := b.sessionOf(s, "Who am I", "asked")
	s.emit(t, session, "changed", object{"list": all})
	b.await(`document.querySelectorAll('[data-kind=KPI]').length === ` + string(must(json.Marshal(len(all)))))
	check("event")
	for part := range slices.Chunk(all, 170) {
		var blocks []any
		for _, attack := range part {
			blocks = append(blocks, object{"slug": "RichText", "content": attack, "allowUnsecure": true, "css": attack, "styles": attack}, object{"slug": "Action", "type": "script", "text": attack, "value": "alert(1)"})
		}
		s.emit(t, session, "changed.blocks", object{"blocks": blocks})
		quoted := string(must(json.Marshal(strings.TrimSpace(part[0]))))
		b.await(`document.querySelectorAll('[data-kind=Action]').length === `+string(must(json.Marshal(len(part))))+` && document.querySelector('[data-kind=Action]').textContent.trim() === `+quoted, "blocks of an event")
		check("blocks of an event")
	}
	for part := range slices.Chunk(all, 100) {
		s.emit(t, session, "told", object{"content": strings.Join(part, " "), "type": part[0], "key": part[1]})
		s.emit(t, session, "noted", object{"title": strings.Join(part, " "), "body": part[2], "icon": part[3]})
	}
	for _, target := range []string{"javascript:alert(1)", " javascript:alert(1)", "java\tscript:alert(1)", "data:text/html,<script>alert(1)</script>", "//evil.invalid/", "/\\evil.invalid/"} {
		s.emit(t, session, "changed", object{"redirect": object{"url": target}})
		s.emit(t, session, "changed", object{"redirect": object{"url": target, "method": "POST"}})
	}
	s.emit(t, session, "told", object{"content": "the last one"})
	b.seeText("the last one")
	check("messages")
	require.Equal(t, s.base+"/event", eval[string](b, `location.href`))

	// In the values of a form that is shown again.
	s.page(t, object{"slug": "form", "name": "Form", "blocks": []any{object{"slug": "Form", "onSubmit": "x", "schema": object{"type": "object", "required": []any{"r"}, "properties": object{"a": object{"type": "string"}, "t": object{"type": "string", "ui:widget": "textarea"}, "l": object{"type": "array", "items": object{"type": "string"}}, "r": object{"type": "string"}}}}, end}})
	visit("/form", "form")
	for part := range slices.Chunk(all, 200) {
		quoted := string(must(json.Marshal(part)))
		eval[bool](b, `(() => {
			const form = document.querySelector('.svc-form-fields'), values = `+quoted+`;
			form.querySelectorAll('[name^="l["]').forEach((field) => field.remove());
			values.forEach((value, i) => form.append(Object.assign(document.createElement('input'), {type: 'hidden', name: 'l[' + i + ']', value})));
			form.elements.a.value = values.join(' '); form.elements.t.value = values.join('\n');
			HTMLFormElement.prototype.submit.call(form);
			return window.submitted = true; // until the answer is there
		})()`)
		b.await(`!window.submitted && document.readyState === 'complete' && document.querySelector('.svc-form-error') && document.querySelector('[name="l[0]"]')?.value === `+quoted+`[0].replace(/[\r\n]/g, '')`, "the form again")
		check("values of a form")
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
