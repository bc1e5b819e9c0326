package pages

import (
	"bytes"
	"compress/gzip"
	"context"
	"embed"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"sync"
	"time"

	"svc/domain"
	"svc/http/gateway"
)

//go:embed all:dist
var dist embed.FS

// assets are the script and the style sheet of the platform, under names that change with their content.
type assets struct {
	css, script string
	files       map[string]assetFile
}

type assetFile struct {
	contentType string
	plain, zip  []byte
}

// loadAssets reads the build of the script and the style sheet. It panics when that is not whole, which must not
// reach a running server.
func loadAssets() assets {
	a := assets{files: map[string]assetFile{}}
	for _, name := range []string{"pages.css", "pages.js"} {
		content, err := fs.ReadFile(dist, "dist/"+name)
		if err != nil {
			panic("pages: " + err.Error())
		}
		ext := path.Ext(name)
		hashed := "pages-" + cssHash(string(content)) + ext
		file := assetFile{contentType: "text/css; charset=utf-8", plain: content, zip: gzipped(content, gzip.BestCompression)}
		if ext == ".js" {
			file.contentType, a.script = "text/javascript; charset=utf-8", hashed
		} else {
			a.css = hashed
		}
		a.files[hashed] = file
	}
	return a
}

// gzipped compresses in memory, which fails for a wrong level only.
func gzipped(content []byte, level int) []byte {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, level)
	if err != nil {
		panic("pages: " + err.Error())
	}
	_, _ = w.Write(content)
	_ = w.Close()
	return b.Bytes()
}

func (v *visit) assetURL(name string) string { return v.place.site.base + "/_svc/assets/" + name }

// styleCache has the style sheets of authors that this node has stored or loaded, by name.
type styleCache struct {
	mu    sync.Mutex
	files map[string]storedStyle
	bytes int
}

type storedStyle struct {
	css    string
	stored time.Time
}

// Limits of style sheets of authors.
const (
	maxStyles      = 32 << 20 // bytes in memory
	StyleLifetime  = 48 * time.Hour
	styleFreshness = StyleLifetime / 2 // after which a style sheet that is still used is stored again
)

// styleURL returns the address of a style sheet of an author. It is stored by its hash, so that every node has it.
func (v *visit) styleURL(css string) string {
	name := "style-" + cssHash(css) + ".css"
	now := v.Now()
	v.styles.mu.Lock()
	known, ok := v.styles.files[name]
	v.styles.mu.Unlock()
	if !ok || now.Sub(known.stored) > styleFreshness {
		if err := v.Views.Put(v.request.Context(), name, []byte(css), StyleLifetime); err != nil {
			v.Log.WarnContext(v.request.Context(), "a style sheet of a page could not be stored", "err", err)
			now = time.Time{}
		}
		v.styles.add(name, storedStyle{css, now})
	}
	return v.assetURL(name)
}

func (c *styleCache) add(name string, style storedStyle) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bytes += len(style.css); c.bytes > maxStyles || c.files == nil {
		c.files, c.bytes = map[string]storedStyle{}, len(style.css)
	}
	c.files[name] = style
}

// style returns a style sheet of an author by its name.
func (p *Pages) style(ctx context.Context, name string) (string, error) {
	p.styles.mu.Lock()
	known, ok := p.styles.files[name]
	p.styles.mu.Unlock()
	if ok {
		return known.css, nil
	}
	css, ok, err := p.Views.Get(ctx, name)
	if err == nil && !ok {
		err = domain.Refuse(domain.CodeNotFound, "there is no such file").With("resource", "asset")
	}
	if err != nil {
		return "", err
	}
	p.styles.add(name, storedStyle{string(css), time.Time{}})
	return string(css), nil
}

// asset handles GET of a script or a style sheet.
func (p *Pages) asset(r *http.Request) (any, error) {
	name := gateway.Var(r, "asset")
	h := http.Header{}
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Etag", `"`+name+`"`)
	if file, ok := p.assets.files[name]; ok {
		body := file.plain
		if gateway.AcceptsEncoding(r.Header, "gzip") {
			body = file.zip
			h.Set("Content-Encoding", "gzip")
		}
		h.Set("Vary", "Accept-Encoding")
		return gateway.Content{Type: file.contentType, Body: body, Header: h}, nil
	}
	if !styleName.MatchString(name) {
		return nil, domain.Refuse(domain.CodeNotFound, "there is no such file").With("resource", "asset")
	}
	css, err := p.style(r.Context(), name)
	if err != nil {
		return nil, err
	}
	return gateway.Content{Type: "text/css; charset=utf-8", Body: []byte(css), Header: h}, nil
}

var styleName = regexp.MustCompile(`^style-[0-9a-f]{12}\.css$`)
