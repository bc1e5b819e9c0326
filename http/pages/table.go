package pages

import (
	"fmt"
	"html/template"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"svc/domain/automation/expr"
	"svc/domain/page"
	"svc/domain/value"
)

// Sizes of a table that the server pages.
const (
	usualPageSize = 20
	maxPageSize   = 1000
)

// column is a column of a table as it is shown.
type column struct {
	Label   string
	Number  bool   // its cells are numbers
	Sorted  string // ascending or descending; "" when the rows are not sorted by it
	Sort    *action
	key     string
	format  string
	kind    string
	actions []config
}

// row and cell are those of a table as they are shown.
type row struct {
	Index  string
	Select string
	Cells  []cell
}

type cell struct {
	Content template.HTML
	Number  bool
	Actions []action
}

// bulkAction is an action on several rows.
type bulkAction struct{ On, Label string }

func showTable(c config, root root) template.HTML {
	c.listen(c, "updateRowOn", "row")
	all, _ := c.at("data").([]any)
	order, sortByEvent := c.sortOrder()
	if !sortByEvent && order.key != "" {
		all = sortedRows(all, order)
	}
	rows, first, pages := c.pageOf(all)
	columns := c.columns(all, order, sortByEvent)
	data := map[string]any{
		"Root": root, "Title": c.text("title"), "Label": orElse(c.text("title"), c.texts.Table), "Sticky": c.isSet("sticky"), "Texts": c.texts,
		"Base": c.site.base, "View": c.viewID, "Columns": columns, "Pages": pages,
	}
	var bulk []bulkAction
	for i, item := range c.list("bulkActions") {
		on := fmt.Sprintf("bulkActions.%d", i)
		h := hookOf(c, item.at("onSelect"))
		h.extra = selectedRows(all)
		c.addHook(c.block, on, h)
		if h.event != "" && !c.inert {
			bulk = append(bulk, bulkAction{on, orElse(item.text("label"), c.texts.Send)})
		}
	}
	data["Bulk"], data["BulkID"] = bulk, identifier("bulk-"+c.block.Path)
	var shown []row
	for i, entry := range rows {
		shown = append(shown, c.row(entry, first+i, columns))
	}
	for i := range columns {
		columns[i].Number = len(shown) > 0 && !slices.ContainsFunc(shown, func(r row) bool { return !r.Cells[i].Number })
	}
	data["Rows"] = shown
	data["ColumnCount"] = max(1, len(columns)) + min(1, len(bulk))
	return c.execute("DataTable", data)
}

// rowOrder is how rows are sorted.
type rowOrder struct {
	key  string
	down bool
}

// sortOrder returns how the rows are sorted, and whether an event sorts them. The visitor's choice is in the query of
// the page, under the path of the block.
func (c config) sortOrder() (order rowOrder, byEvent bool) {
	initial := c.at("initialSort")
	if text, ok := initial.(string); ok {
		order = parseOrder(text)
	} else if o, ok := initial.(*value.Object); ok {
		order = rowOrder{value.Text(o.At("key")), o.At("order") == "desc" || o.At("order") == "descending"}
	}
	if hookOf(c, c.at("onSort")).event != "" {
		return order, true
	}
	if asked := c.query.Get(c.block.Path + ".sort"); asked != "" {
		order = parseOrder(asked)
	}
	return order, false
}

func parseOrder(text string) rowOrder {
	if key, down := strings.CutPrefix(text, "-"); down {
		return rowOrder{key, true}
	}
	return rowOrder{text, false}
}

// sortedRows returns rows in an order. Rows without a value come last.
func sortedRows(rows []any, order rowOrder) []any {
	path := strings.Split(order.key, ".")
	sorted := slices.Clone(rows)
	slices.SortStableFunc(sorted, func(a, b any) int {
		x, y := value.Walk(a, path...), value.Walk(b, path...)
		if value.IsNothing(x) || value.IsNothing(y) {
			switch {
			case value.IsNothing(x) && value.IsNothing(y):
				return 0
			case value.IsNothing(x):
				return 1
			}
			return -1
		}
		compared, ok := value.Compare(x, y)
		if !ok {
			compared = strings.Compare(value.Text(x), value.Text(y))
		}
		if order.down {
			return -compared
		}
		return compared
	})
	return sorted
}

// pageOf returns the rows of the page that is shown, the index of the first one, and the links to the other pages.
func (c config) pageOf(all []any) (rows []any, first int, links []action) {
	pagination, given := c.part("pagination")
	size := min(maxPageSize, max(1, int(pagination.number("pageSize", usualPageSize))))
	if h := hookOf(c, eventOf(pagination)); h.event != "" { // the rows of one page are there
		h.extra = onlyKeys("page")
		c.addHook(c.block, "pagination", h)
		count := (max(0, int(pagination.number("itemCount", 0))) + size - 1) / size
		return all, 0, c.pageLinks(int(pagination.number("page", 1)), count, func(n int) action {
			on := "pagination:" + strconv.Itoa(n)
			one := h
			one.extra = func(*value.Object) *value.Object { return value.NewObject("page", float64(n)) }
			c.addHook(c.block, on, one)
			return action{Type: "event", On: on, Base: c.site.base, View: c.viewID, Block: c.block.Path, Texts: c.texts, Class: "svc-page-link", Text: strconv.Itoa(n)}
		})
	}
	if !given && len(all) <= maxPageSize {
		return all, 0, nil
	}
	count := (len(all) + size - 1) / size
	now, _ := strconv.Atoi(c.query.Get(c.block.Path + ".page"))
	now = min(max(1, now), max(1, count))
	first = (now - 1) * size
	rows = all[first:min(len(all), first+size)]
	return rows, first, c.pageLinks(now, count, func(n int) action {
		return action{Type: "link", Href: c.queryLink(".page", strconv.Itoa(n)), Text: strconv.Itoa(n), Class: "svc-page-link", Texts: c.texts}
	})
}

func eventOf(c config) any {
	if _, ok := c.at("event").(string); !ok {
		return nil
	}
	return c.Object
}

// pageLinks returns the links around a page: the first, the last, and those beside it.
func (c config) pageLinks(now, count int, link func(n int) action) (links []action) {
	if count < 2 {
		return nil
	}
	for n := 1; n <= count; n++ {
		if n != 1 && n != count && (n < now-2 || n > now+2) {
			continue
		}
		a := link(n)
		a.AfterGap = n != 1 && n == now-2 && n > 2 || n == count && n > now+3
		if n == now {
			a.Current = "page"
		}
		links = append(links, a)
	}
	return links
}

// queryLink returns a link to the same page with one parameter of the block changed.
func (c config) queryLink(parameter, v string) string {
	query := make(map[string][]string, len(c.query)+1)
	for key, values := range c.query {
		query[key] = values
	}
	query[c.block.Path+parameter] = []string{v}
	if parameter == ".sort" {
		delete(query, c.block.Path+".page")
	}
	keys := make([]string, 0, len(query))
	for key := range query {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	var parts []string
	for _, key := range keys {
		for _, v := range query[key] {
			parts = append(parts, template.URLQueryEscaper(key)+"="+template.URLQueryEscaper(v))
		}
	}
	return "?" + strings.Join(parts, "&")
}

// columns returns the columns of a table; without any they are the keys of the first row.
func (c config) columns(all []any, order rowOrder, sortByEvent bool) (list []column) {
	parts := c.list("columns")
	if len(parts) == 0 && len(all) > 0 {
		for _, key := range objectOf(all[0]).Keys() {
			parts = append(parts, config{c.rendering, c.block, value.NewObject("label", key, "key", key)})
		}
	}
	var sorting hook
	if sortByEvent {
		sorting = hookOf(c, c.at("onSort"))
		sorting.extra = onlyKeys("key", "order")
		c.addHook(c.block, "onSort", sorting)
	}
	for i, part := range parts {
		col := column{Label: orElse(part.text("label"), part.text("key")), key: part.text("key"), format: part.text("format"), kind: part.text("type")}
		for j, item := range part.list("actions") {
			item.Object = item.Copy()
			item.Set(" on", fmt.Sprintf("columns.%d.actions.%d", i, j))
			col.actions = append(col.actions, item)
		}
		if col.key != "" && len(all) > 1 || sortByEvent && col.key != "" {
			next := rowOrder{col.key, order.key == col.key && !order.down}
			if order.key == col.key {
				col.Sorted = "ascending"
				if order.down {
					col.Sorted = "descending"
				}
			}
			text := "-" + next.key
			if !next.down {
				text = next.key
			}
			a := action{Text: col.Label, Class: "svc-sort", Texts: c.texts}
			if sortByEvent {
				a.Type, a.On, a.Base, a.View, a.Block = "event", "onSort:"+text, c.site.base, c.viewID, c.block.Path
				h := sorting
				direction := "asc"
				if next.down {
					direction = "desc"
				}
				h.extra = func(*value.Object) *value.Object { return value.NewObject("key", next.key, "order", direction) }
				c.addHook(c.block, a.On, h)
			} else {
				a.Type, a.Href = "link", c.queryLink(".sort", text)
			}
			if !c.inert || a.Type == "link" {
				col.Sort = &a
			}
		}
		list = append(list, col)
	}
	return list
}

// row returns a row as it is shown. An action of it names the row by its index, and its event has the row as item.
func (c config) row(entry any, index int, columns []column) row {
	shown := row{Index: strconv.Itoa(index), Select: with(c.texts.SelectRow, strconv.Itoa(index+1))}
	for _, col := range columns {
		v := value.Undefined
		if col.key != "" {
			v = value.Walk(entry, strings.Split(col.key, ".")...)
		}
		one := cell{Content: c.cellContent(v, entry, col)}
		_, one.Number = v.(float64)
		for _, item := range col.actions {
			on, _ := item.at(" on").(string)
			on += ":" + strconv.Itoa(index)
			label := fillRow(item.text("text"), entry)
			a := item.action(on, item.buttonClass())
			a.Text = label
			if h, ok := c.hooks[c.block.Path][on]; ok {
				h.extra = func(*value.Object) *value.Object { return value.NewObject("item", entry) }
				c.hooks[c.block.Path][on] = h
			}
			if a.Type == "link" {
				a.Href = c.rowLink(item, entry)
			}
			one.Actions = append(one.Actions, a)
		}
		shown.Cells = append(shown.Cells, one)
	}
	return shown
}

// rowLink returns the link of an action of a row, whose address may read the row.
func (c config) rowLink(item config, entry any) string {
	target := fillRow(item.text("value"), entry)
	if item.at("type") == "internal" {
		return c.internalLink(target)
	}
	return externalLink(target)
}

// cellContent returns a cell as its column says.
func (c config) cellContent(v, entry any, col column) template.HTML {
	text := ""
	switch {
	case strings.Contains(col.format, "${"):
		text = fillRow(col.format, entry)
	case col.kind == "date":
		format := orElse(col.format, "L")
		if formatted, ok := expr.FormatDate(v, format, c.view.Language.Tag); ok {
			text = formatted
		}
	case col.kind == "boolean":
		text = c.texts.No
		if value.IsTruthy(v) {
			text = c.texts.Yes
		}
	case col.kind == "image":
		if src := imageURL(c.textOf(v)); src != "" {
			return c.execute("img", map[string]any{"Src": src, "Alt": "", "Width": "", "Height": ""})
		}
	case col.kind == "html" || col.kind == "markdown":
		return richText(v, c.view.Language, col.kind == "markdown", false)
	default:
		text = c.formatted(v, col.format)
	}
	return template.HTML(template.HTMLEscapeString(text)) //nolint:gosec // it is escaped
}

var rowPlaceholder = regexp.MustCompile(`\$\{([^}]*)\}`)

// fillRow replaces ${path} by values of a row.
func fillRow(text string, entry any) string {
	return rowPlaceholder.ReplaceAllStringFunc(text, func(match string) string {
		path := strings.Split(strings.TrimSpace(match[2:len(match)-1]), ".")
		return value.Text(value.Walk(entry, path...))
	})
}

// selectedRows returns the chosen rows as {items}.
func selectedRows(all []any) func(*value.Object) *value.Object {
	return func(given *value.Object) *value.Object {
		indexes, ok := given.At("items").([]any)
		if !ok && !value.IsNothing(given.At("items")) {
			indexes = []any{given.At("items")}
		}
		items := []any{}
		for _, index := range indexes {
			if n, ok := value.ParseNumber(value.Text(index)); ok && n >= 0 && int(n) < len(all) {
				items = append(items, all[int(n)])
			}
		}
		return value.NewObject("items", items)
	}
}

// mergeRow merges a payload into the row of a table with its id.
func mergeRow(tree *page.Tree, path string, payload *value.Object) *value.Object {
	b := tree.ByPath[path]
	if b == nil {
		return nil
	}
	rows, _ := b.Config.At("data").([]any)
	id := payload.At("id")
	if value.IsNothing(id) {
		return nil
	}
	for i, entry := range rows {
		o, ok := entry.(*value.Object)
		if !ok || !value.StrictEqual(o.At("id"), id) {
			continue
		}
		merged := o.Copy()
		for key, v := range payload.All() {
			merged.Set(key, v)
		}
		next := slices.Clone(rows)
		next[i] = merged
		return value.NewObject("data", next)
	}
	return nil
}
