package pages

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSelectorsStayInTheirScope(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"p{a:b}": "#svc-page p{a:b;}", "body p{a:b}": "#svc-page p{a:b;}", ":root{a:b}": "#svc-page{a:b;}", "html body > p{a:b}": "#svc-page>p{a:b;}",
		":root ~ div{a:b}": "", "body:hover + a{a:b}": "", "body:not(.x ~ .y) ~ a{a:b}": "", "body p ~ a{a:b}": "#svc-page p~a{a:b;}",
		"+ a{a:b}": "", "a{b:c}</style><script>": "#svc-page a{b:c;}", "a{background:url(javascript:x)}": "", "@import url(x.css);": "",
		"p:has(+ x), #svc-toasts{a:b}": "#svc-page p:has(+x),#svc-page #svc-toasts{a:b;}", ":is(p, b), html ~ a{a:b}": "#svc-page :is(p,b){a:b;}",
		"p{--x:url(//evil.example/x.png)}": "", "p{--x: url( 'http://x' )}": "", "p{--x: 1px solid red}": "#svc-page p{--x:1px solid red;}", "p{--x:url(https://a.example/b.png)}": "#svc-page p{--x:url(https://a.example/b.png);}",
	} {
		require.Equal(t, want, scopeCSS(text, "#svc-page"), text)
	}
	require.Empty(t, scopeCSS(":block ~ p{a:b}", ".svc-css-x"))
	require.Equal(t, ".svc-css-x p{a:b;}", scopeCSS(":block p{a:b}", ".svc-css-x"))
}
