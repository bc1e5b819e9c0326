package api

import (
	"net/http"
	"strings"

	"svc/domain"
	"svc/domain/document"
	"svc/domain/shape"
	"svc/domain/workspace"
	"svc/http/gateway"
	"svc/projections"
)

// blocksOf returns the blocks of a workspace, and the tag of the settings that
// they are part of.
func blocksOf(d Deps, id string) (blocks *document.Map, tag string, err error) {
	err = d.ReadModel.View(func(rd projections.Reader) error {
		rec, _, err := projections.Workspaces{}.Record(rd, id)
		if err != nil {
			return err
		}
		tag = tagOf(rec.Revision)
		settings, ok, err := projections.Workspaces{}.Settings(rd, id)
		if err != nil || !ok {
			return orElse(err, noWorkspace(id))
		}
		v, _ := settings.Get("blocks")
		if blocks, ok = v.(*document.Map); !ok {
			blocks = document.MapOf()
		}
		return nil
	})
	return blocks, tag, err
}

// listBlocks handles GET /v2/workspaces/{workspaceId}/blocks.
func listBlocks(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		blocks, tag, err := blocksOf(d, workspaceID(r))
		if err != nil {
			return nil, err
		}
		return inForm(r, blocks, tag)
	}
}

// inForm is a part of a document as the client wants it.
func inForm(r *http.Request, part *document.Map, tag string) (any, error) {
	whole, err := jsonOf(part, tag)
	if err != nil {
		return nil, err
	}
	text, err := document.YAML(part)
	return inEither(r, whole, text), err
}

// putBlock handles PUT and PATCH /v2/workspaces/{workspaceId}/blocks/{slug}.
func putBlock(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		id, slug := workspaceID(r), gateway.Var(r, "slug")
		if err := mayChangeBlocks(r); err != nil {
			return nil, err
		}
		if err := checkBlockName(slug); err != nil {
			return nil, err
		}
		in, err := readDocument(r)
		if err != nil {
			return nil, err
		}
		in.doc = withoutReadOnly(in.doc, "slug")
		put := workspace.PutBlock{Slug: slug, Block: in.doc, Merge: in.isPatch(r)}
		faults := shape.CheckBlock(put.Block)
		if put.Merge { // null removes a field, whatever it is
			faults = shape.CheckBlock(merged(document.MapOf(), put.Block))
		}
		if dry, err := dryRun(r); dry || err != nil {
			return in.verdict(faults), err
		}
		if err := shape.Refusal(faults); err != nil {
			return nil, in.withLines(err)
		}
		before, _, err := blocksOf(d, id)
		if err != nil {
			return nil, err
		}
		if _, err := d.Workspaces.PutBlock(r.Context(), id, put, ifMatch(r)); err != nil {
			return nil, in.withLines(err)
		}
		settle(r.Context(), d.ReadModel)
		return blockAnswer(d, r, slug, before)
	}
}

// verdict is the answer to a dry run that found these faults.
func (s sent) verdict(faults []shape.Fault) verdict {
	v := checked()
	for _, f := range faults {
		v.Errors = append(v.Errors, s.place(f.Field, f.Message))
	}
	return v
}

// blockAnswer is a block after it was set: 201 when there was none of that name
// before.
func blockAnswer(d Deps, r *http.Request, slug string, before *document.Map) (any, error) {
	now, tag, err := blocksOf(d, workspaceID(r))
	if err != nil {
		return nil, err
	}
	v, _ := now.Get(slug)
	block, _ := v.(*document.Map)
	if block == nil {
		block = document.MapOf()
	}
	body, err := inForm(r, block, tag)
	if _, known := before.Get(slug); err != nil || known {
		return body, err
	}
	location := strings.TrimRight(r.URL.EscapedPath(), "/")
	return madeAt(body, location), nil
}

// deleteBlock handles DELETE /v2/workspaces/{workspaceId}/blocks/{slug}.
func deleteBlock(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		slug := gateway.Var(r, "slug")
		if err := mayChangeBlocks(r); err != nil {
			return nil, err
		}
		if _, err := d.Workspaces.PutBlock(r.Context(), workspaceID(r), workspace.PutBlock{Slug: slug}, ifMatch(r)); err != nil {
			return nil, err
		}
		settle(r.Context(), d.ReadModel)
		return map[string]string{"slug": slug}, nil
	}
}

func mayChangeBlocks(r *http.Request) error {
	return gateway.GrantFrom(r.Context()).Rights.Check("update", "workspaces", nil, "blocks")
}

// checkBlockName refuses a name in the path that no block can have, by the rule
// that the index has.
func checkBlockName(slug string) error {
	for _, f := range shape.Check(document.Index, document.MapOf(
		document.Pair{Key: "name", Value: "any"},
		document.Pair{Key: "blocks", Value: document.MapOf(document.Pair{Key: slug, Value: document.MapOf()})},
	)) {
		return domain.Refuse(domain.CodeInvalidParameter, "slug: %s", f.Message).With("parameter", "slug")
	}
	return nil
}
