package crawler

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"net/url"
	"strings"

	"svc/domain/crawl"
	"svc/streams/site"
)

// Bounds of the sitemaps of one run.
const (
	maxSitemaps     = 100
	maxSitemapURLs  = 50_000
	maxSitemapBytes = 50 << 20 // after decompression
)

// readSitemaps returns the addresses of all sitemaps of the hosts of the source. A sitemap that cannot be read is left
// out: most sites have none. All says that none may be readable later.
func (r *run) readSitemaps(ctx context.Context) (addresses []string, all bool, err error) {
	all = true
	var todo []string
	for start := range r.scope.Starts() {
		u, err := url.Parse(start)
		if err != nil {
			continue
		}
		todo = append(todo, u.Scheme+"://"+u.Host+"/sitemap.xml")
		if r.source.Robots {
			robots, err := r.Fetcher.Robots(ctx, u, r.request(start))
			if ctx.Err() != nil {
				return nil, false, context.Cause(ctx)
			}
			if err == nil {
				todo = append(todo, robots.Sitemaps...)
			}
		}
	}
	seen := map[string]bool{}
	for len(todo) > 0 && len(seen) < maxSitemaps && len(addresses) < maxSitemapURLs {
		address, err := r.scope.Normalise(todo[0])
		todo = todo[1:]
		if err != nil || seen[address] || !r.scope.HasHost(crawl.HostOf(address)) {
			continue
		}
		seen[address] = true
		request := r.request(address)
		request.Check = func(hop string) error {
			if !r.scope.HasHost(crawl.HostOf(hop)) {
				return errOutOfScope
			}
			return nil
		}
		body, err := r.Fetcher.Sitemap(ctx, request)
		if ctx.Err() != nil {
			return nil, false, context.Cause(ctx)
		}
		if err != nil {
			if fault, ok := errors.AsType[*site.Fault](err); ok && fault.Again >= 0 {
				all = false
			}
			continue
		}
		urls, maps := parseSitemap(body)
		todo = append(todo, maps...)
		for _, found := range urls {
			if normal, err := r.scope.Normalise(found); err == nil && len(addresses) < maxSitemapURLs {
				addresses = append(addresses, normal)
			}
		}
	}
	return addresses, all, nil
}

// parseSitemap returns the pages and the sitemaps that a sitemap lists. What is not well-formed ends it.
func parseSitemap(body []byte) (urls, sitemaps []string) {
	var in io.Reader = bytes.NewReader(body)
	if bytes.HasPrefix(body, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, nil
		}
		in = z
	}
	d := xml.NewDecoder(io.LimitReader(in, maxSitemapBytes))
	d.Strict = false
	inside := ""
	for {
		token, err := d.Token()
		if err != nil {
			return urls, sitemaps
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		switch name := start.Name.Local; name {
		case "url", "sitemap":
			inside = name
		case "loc":
			var text string
			if d.DecodeElement(&text, &start) != nil {
				return urls, sitemaps
			}
			switch text = strings.TrimSpace(text); inside {
			case "url":
				urls = append(urls, text)
			case "sitemap":
				sitemaps = append(sitemaps, text)
			}
		}
		if len(urls) > maxSitemapURLs || len(sitemaps) > maxSitemaps {
			return urls, sitemaps
		}
	}
}
