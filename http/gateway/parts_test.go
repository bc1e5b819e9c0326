package gateway_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/http/gateway"
)

// A form that was cut off is refused, wherever that was: what came of it is not the whole.
func TestAFormThatIsCutOffIsRefused(t *testing.T) {
	t.Parallel()
	upload := post("/upload", func(r *http.Request) (any, error) {
		got := ""
		err := gateway.Parts(r, 0, func(p gateway.Part) error {
			if got += p.Name + "=" + p.Text; p.File == nil {
				return nil
			}
			b, err := io.ReadAll(p.File)
			got += string(b)
			return err
		})
		return map[string]string{"got": got}, err
	})
	upload.Body = gateway.UploadBody
	w := serve(t, upload)
	const part = "--b\r\nContent-Disposition: form-data; name=\"t\"\r\n\r\n-b--\r\n --b--\r\n--bb--\r\n"
	const file = "--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a\"\r\nContent-Type: text/plain\r\n\r\nhello\r\n"
	const whole = part + file + "--b--\r\n"
	for _, kind := range []string{"multipart/form-data; boundary=b", `Multipart/Form-Data; BOUNDARY="b"`} {
		for n := 1; n < len(whole)-2; n++ {
			w.do("POST", "/upload", whole[:n], "Content-Type", kind).requireFailure(t, http.StatusBadRequest, domain.CodeInvalidRequest)
		}
		for _, body := range []string{whole[:len(whole)-2], whole, whole + "epilogue", "preamble\r\n" + whole, whole + strings.Repeat("epilogue", 1000)} {
			require.JSONEq(t, `{"got":"t=-b--\r\n --b--\r\n--bb--f=hello"}`, w.do("POST", "/upload", body, "Content-Type", kind).body)
		}
	}
}
