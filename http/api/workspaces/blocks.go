package workspaces

import (
	"net/http"
	"strings"

	"svc/domain"
	"svc/domain/document"
	"svc/domain/shape"
	"svc/domain/workspace"
	"svc/http/api/handler"
	"svc/http/gateway"
)

// readBlocks returns the blocks of a workspace, and the tag of the settings that
// they are part of.
func (h *Handlers) readBlocks(id string) (blocks *document.Map, tag string, err error) {
	settings, tag, err := h.readSettings(id)
	if err != nil {
		return nil, "", err
	}
	v, _ := settings.Get("blocks")
	blocks, ok := v.(*document.Map)
	if !ok {
		blocks = document.MapOf()
	}
	return blocks, tag, nil
}

// ListBlocks handles GET /v2/workspaces/{workspaceId}/blocks.
func (h *Handlers) ListBlocks(r *http.Request) (any, error) {
	blocks, tag, err := h.readBlocks(handler.WorkspaceID(r))
	if err != nil {
		return nil, err
	}
	return handler.PartResponse(r, blocks, tag)
}

// PutBlock handles PUT and PATCH /v2/workspaces/{workspaceId}/blocks/{slug}.
func (h *Handlers) PutBlock(r *http.Request) (any, error) {
	id, slug := handler.WorkspaceID(r), gateway.Var(r, "slug")
	if err := checkChangeBlocks(r); err != nil {
		return nil, err
	}
	if err := checkBlockName(slug); err != nil {
		return nil, err
	}
	in, err := handler.ReadDocument(r)
	if err != nil {
		return nil, err
	}
	in.Doc = handler.WithoutReadOnly(in.Doc, "slug")
	put := workspace.PutBlock{Slug: slug, Block: in.Doc, Merge: in.IsPatch(r)}
	faults := shape.CheckBlock(put.Block)
	if put.Merge { // null removes a field, whatever it is
		faults = shape.CheckBlock(handler.MergePatch(document.MapOf(), put.Block))
	}
	if dry, err := handler.ReadDryRun(r); dry || err != nil {
		return in.DryRunFaults(faults), err
	}
	if err := shape.Refusal(faults); err != nil {
		return nil, in.WithLines(err)
	}
	before, _, err := h.readBlocks(id)
	if err != nil {
		return nil, err
	}
	if _, err := h.Workspaces.PutBlock(r.Context(), id, put, handler.IfMatch(r)); err != nil {
		return nil, in.WithLines(err)
	}
	handler.AwaitVisible(r.Context(), h.ReadModel)
	return h.blockResponse(r, slug, before)
}

// blockResponse is a block after it was set: 201 when there was none of that name
// before.
func (h *Handlers) blockResponse(r *http.Request, slug string, before *document.Map) (any, error) {
	now, tag, err := h.readBlocks(handler.WorkspaceID(r))
	if err != nil {
		return nil, err
	}
	v, _ := now.Get(slug)
	block, _ := v.(*document.Map)
	if block == nil {
		block = document.MapOf()
	}
	body, err := handler.PartResponse(r, block, tag)
	if _, known := before.Get(slug); err != nil || known {
		return body, err
	}
	location := strings.TrimRight(r.URL.EscapedPath(), "/")
	return handler.CreatedResponse(body, location), nil
}

// DeleteBlock handles DELETE /v2/workspaces/{workspaceId}/blocks/{slug}.
func (h *Handlers) DeleteBlock(r *http.Request) (any, error) {
	slug := gateway.Var(r, "slug")
	if err := checkChangeBlocks(r); err != nil {
		return nil, err
	}
	if _, err := h.Workspaces.PutBlock(r.Context(), handler.WorkspaceID(r), workspace.PutBlock{Slug: slug}, handler.IfMatch(r)); err != nil {
		return nil, err
	}
	handler.AwaitVisible(r.Context(), h.ReadModel)
	return map[string]string{"slug": slug}, nil
}

func checkChangeBlocks(r *http.Request) error {
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
