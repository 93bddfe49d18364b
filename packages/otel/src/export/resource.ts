import {
  defaultResource,
  detectResources,
  type Resource,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceNameEnvDetector,
} from "@opentelemetry/resources";

/** The name of the instrumentation, and the default name of the service. */
export const serviceName = "uncaged-workflow";

/** Describes this server: `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` have precedence. */
export const resourceOf = (): Resource =>
  defaultResource()
    .merge(resourceFromAttributes({ "service.name": serviceName }))
    .merge(detectResources({ detectors: [resourceAttributesEnvDetector, serviceNameEnvDetector] }));

/** The version of the semantic conventions that names and values follow: the last version that contains GenAI. */
export const schemaUrl = "https://opentelemetry.io/schemas/1.41.0";
