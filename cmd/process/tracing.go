package process

import (
	"context"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"

	"svc/cmd/settings"
)

// NewTracing returns a provider that exports spans to the endpoint of the settings.
func NewTracing(ctx context.Context, o settings.Obs, version string) (*sdk.TracerProvider, error) {
	endpoint := strings.TrimSuffix(o.OTLPEndpoint, "/")
	if !strings.HasSuffix(endpoint, "/v1/traces") {
		endpoint += "/v1/traces"
	}
	exporter, err := otlptrace.New(ctx, newOTLPClient(endpoint, pairs(strings.Split(o.OTLPHeaders.Reveal(), ","))))
	if err != nil {
		return nil, err
	}
	attrs := []attribute.KeyValue{attribute.String("service.name", o.ServiceName), attribute.String("service.version", version)}
	for k, v := range pairs(o.ResourceAttributes) {
		attrs = append(attrs, attribute.String(k, v))
	}
	return sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithSampler(sampler(o)), sdk.WithResource(resource.NewSchemaless(attrs...))), nil
}

// pairs reads name=value items.
func pairs(items []string) map[string]string {
	m := map[string]string{}
	for _, item := range items {
		if k, v, ok := strings.Cut(item, "="); ok {
			m[strings.TrimSpace(k)] = strings.TrimSpace(v)
		}
	}
	return m
}

func sampler(o settings.Obs) sdk.Sampler {
	switch o.TracesSampler {
	case "always_on":
		return sdk.AlwaysSample()
	case "always_off":
		return sdk.NeverSample()
	case "traceidratio":
		return sdk.TraceIDRatioBased(o.TracesSamplerArg)
	case "parentbased_always_on":
		return sdk.ParentBased(sdk.AlwaysSample())
	case "parentbased_always_off":
		return sdk.ParentBased(sdk.NeverSample())
	}
	return sdk.ParentBased(sdk.TraceIDRatioBased(o.TracesSamplerArg))
}
