// Package page holds the rules of pages: templates, which block shows what, updates of an open page, languages, forms.
//
// A Document is a page with its blocks, compiled once per revision. A View is a page as one visitor sees it: the
// document, with the outputs of automations and the payloads of events folded in. Expand evaluates the templates of a
// view and returns its blocks with their configuration; http/pages turns them into HTML.
//
// Only what is stored in a document is a template, may name an automation or CSS, or may run a script. Data of
// automations and events is never any of these: the compiler marks what is, with types that data cannot have.
package page
