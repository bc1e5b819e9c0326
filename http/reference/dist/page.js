// Everything that would leave this host is off: fonts, telemetry, the request
// proxy, the hosted agent and its kin. The page's Content-Security-Policy
// forbids it besides.
Scalar.createApiReference('#reference', {
  url: '/openapi.json',
  withDefaultFonts: false,
  telemetry: false,
  proxyUrl: '',
  agent: { disabled: true },
  mcp: { disabled: true },
  hideClientButton: true,
  showDeveloperTools: 'never',
  persistAuth: false,
  documentDownloadType: 'both',
  metaData: { title: 'svc API reference' },
})
