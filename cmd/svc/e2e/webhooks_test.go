//go:build e2e

package e2e

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// signedWith reports whether one of the signatures of a delivery is by a secret.
func (d delivery) signedWith(t *testing.T, secret string) bool {
	t.Helper()
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	require.NoError(t, err)
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", d.header.Get("webhook-id"), d.header.Get("webhook-timestamp"), d.body)
	return strings.Contains(d.header.Get("webhook-signature"), "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
}

// rowsWith is how many rows of the table have a text.
func rowsWith(text string) string {
	quoted, _ := json.Marshal(text)
	return `[...document.querySelectorAll('[role=row][data-index]')].filter((row) => row.innerText.includes(` + string(quoted) + `)).length`
}

// #45 and #46: what a receiver answered is shown, what failed is sent again once it is mended, and a period is replayed
// after it was counted. Secrets are shown once.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	ada := sharedService(t).person(t, "Ada")
	id := ada.workspace(t, "Shop", "slug: pay\nname: Pay\ndo:\n  - emit: {event: order.paid}\n")
	w := "/v2/workspaces/" + id
	ada.emit(t, id, "order.paid", 1, 1)
	k := webhookSink(t)
	k.answer(http.StatusInternalServerError)
	sh := newSheet(t, "webhooks")
	b := ada.open(t)
	b.visit("w/" + id)
	b.see("heading", "Recent changes")
	b.press("g", "w")
	b.awaitAt("w/" + id + "/webhooks")
	b.see("heading", "No subscriptions yet")
	sh.capture(b, "empty")

	// A new one: faults at their fields, suggested types, how many events match, a draft that survives a reload.
	b.press("n")
	b.see("dialog", "New subscription")
	b.press("Control+Enter")
	b.awaitFocus("textbox", "Address")
	b.fill("Address", "ftp://127.0.0.1")
	b.click("button", "Add order.paid")
	b.seeText("1 event of the last seven days matches.")
	b.press("Control+Enter")
	b.awaitFocus("textbox", "Address")
	b.seeText("Must be an absolute http or https address.")
	b.fill("Address", k.url+"/hook")
	b.fill("Description", "Accounting <b>")
	b.awaitDraft("Accounting <b>")
	b.visit("w/" + id + "/webhooks?new")
	b.click("button", "Use it")
	b.seeText("1 event of the last seven days matches.")
	sh.capture(b, "new")
	b.press("Control+Enter")
	b.see("dialog", "Secret of the subscription")
	secret := eval[string](b, `document.querySelector('dialog[open] code').textContent`)
	require.Contains(t, secret, "whsec_")
	sh.capture(b, "secret")
	b.click("button", "I have copied it")
	b.see("heading", "Accounting <b>")
	b.see("heading", "Nothing was sent yet")
	b.nowhereOnPage(secret)
	require.NotContains(t, b.drafts(), "Accounting")
	sh.capture(b, "unused")
	sub := ada.list(t, w+"/subscriptions")[0]["id"].(string)

	// A test is not repeated. Its failure is shown with the words of the receiver.
	b.click("button", "Send a test")
	b.seeText("None: a test is not repeated.")
	b.seeText("Internal Server Error")
	sh.capture(b, "test failed")

	// #45: both fail, are tried again by themselves, and wait for minutes then.
	ada.emit(t, id, "order.paid", 2, 1)
	ada.emit(t, id, "order.paid", 3, 1)
	b.visit("w/" + id + "/webhooks/" + sub)
	b.await(`[...document.querySelectorAll('[role=row][data-index]')].filter((row) => row.innerText.includes('order.paid') && row.innerText.includes('Failed') && row.querySelectorAll('[role=cell]')[3].innerText.trim() === '2').length === 2`, "both have failed twice")
	b.seeText("Failing")
	sh.capture(b, "failing")
	deliveries := ada.list(t, w+"/subscriptions/"+sub+"/deliveries?eventType=order.paid")
	require.Len(t, deliveries, 2)
	b.visit("w/" + id + "/webhooks/" + sub + "?delivery=" + deliveries[0]["id"].(string))
	b.seeText("Internal Server Error")
	k.answer(http.StatusOK)
	before := len(k.received())
	b.click("button", "Send again")
	b.await(rowsWith("Delivered")+` === 1`, "the new attempt succeeds")
	b.await(`document.querySelector('aside').innerText.includes('200')`)
	sh.capture(b, "delivered")
	again := k.received()[before:]
	require.Len(t, again, 1)
	require.Equal(t, deliveries[0]["eventId"], again[0].header.Get("webhook-id"))
	require.True(t, again[0].signedWith(t, secret))
	b.click("button", "Send the 2 failed ones again")
	b.await(rowsWith("Delivered") + ` === 3`)
	b.gone("button", "Send the 2 failed ones again")
	b.choose("Status", "Failed")
	b.see("heading", "No match")
	sh.capture(b, "no match")
	b.click("button", "Clear filter")
	b.await(rowsWith("Delivered") + ` === 3`)

	// Rotating: both secrets sign for a while, and the new one is shown once.
	b.visit("w/" + id + "/webhooks/" + sub)
	b.click("button", "Rotate the secret")
	b.choose("The old secret signs too for", "1 hour")
	sh.capture(b, "rotate")
	b.press("Control+Enter")
	b.see("dialog", "Secret of the subscription")
	rotated := eval[string](b, `document.querySelector('dialog[open] code').textContent`)
	require.NotEqual(t, secret, rotated)
	b.click("button", "I have copied it")
	b.nowhereOnPage(rotated)
	before = len(k.received())
	b.click("button", "Send a test")
	b.await(rowsWith("webhooks.test") + ` === 2`)
	tested := k.received()[before]
	require.True(t, tested.signedWith(t, secret))
	require.True(t, tested.signedWith(t, rotated))

	// #46: one hour has three events that match: the one from before the subscription, too.
	b.visit("w/" + id + "/webhooks/" + sub)
	b.click("button", "Actions")
	b.click("menuitem", "Replay a period")
	b.see("button", "Replay 3 events")
	b.seeText("3 events match.")
	sh.capture(b, "replay")
	before = len(k.received())
	b.press("Control+Enter")
	b.seeText("3 events are queued again.")
	b.await(`[...document.querySelectorAll('[role=row][data-index]')].filter((row) => row.innerText.includes('Replay') && row.innerText.includes('Delivered')).length === 3`, "deliveries marked as replay")
	sh.capture(b, "replayed")
	require.Len(t, k.received()[before:], 3)
	b.visit(strings.TrimPrefix(b.where(), "/console/"))
	b.seeText("3 events are queued again.")
	b.click("button", "Close")
	b.awaitAt("w/" + id + "/webhooks/" + sub)

	// What changes elsewhere is shown; it is enabled again from here.
	ada.do(t, http.StatusOK, "PATCH", w+"/subscriptions/"+sub, map[string]any{"disabled": true})
	b.seeText("Nothing is sent. Events of the time between can be replayed later.")
	sh.capture(b, "disabled")
	b.click("button", "Enable again")
	b.await(`!document.body.innerText.includes('Nothing is sent.')`)
	b.click("button", "Actions")
	b.click("menuitem", "Edit")
	b.see("dialog", "Edit Accounting <b>")
	b.fillAs("combobox", "Types of events", "order.sent")
	b.press("Enter")
	b.see("button", "Remove order.sent")
	b.click("button", "Save")
	b.gone("dialog", "Edit Accounting <b>")
	require.Equal(t, []any{"order.paid", "order.sent"}, ada.do(t, http.StatusOK, "GET", w+"/subscriptions/"+sub, nil)["types"])

	b.click("tab", "Receiver code")
	b.seeText("timingSafeEqual")
	sh.capture(b, "code")

	b.press("g", "w")
	b.awaitAt("w/" + id + "/webhooks")
	b.await(firstRow)
	sh.capture(b, "filled")
	b.press("j", "Enter")
	b.see("heading", "Accounting <b>")
	b.click("button", "Actions")
	b.click("menuitem", "Delete")
	b.see("dialog", "Delete Accounting <b>?")
	sh.capture(b, "delete")
	b.click("button", "Delete the subscription")
	b.see("heading", "No subscriptions yet")
	b.visit("w/" + id + "/webhooks/" + sub)
	b.see("heading", "This is not here")
}
