// Package pages shows the pages of workspaces to their visitors: HTML made on the server, kept live by a small script.
//
// A request goes through address.go (which page, which language), pages.go (rights, automations, redirects) and
// render.go, which turns the blocks that domain/page has expanded into HTML. view.go stores what a visitor sees, so that
// any node can continue it; live.go sends what changes in it; interactions.go receives events and forms; signin.go
// signs visitors in and out. Every value is escaped by html/template for its place; richtext.go sanitises content that
// is HTML or Markdown; style.go limits CSS of authors to its page or block.
package pages
