import { z } from "@hono/zod-openapi";

const hash = z.string().openapi({ example: "EYHPV6X8XHTCS" });
const milliseconds = z.number().openapi({ description: "Milliseconds since the epoch, UTC." });
const jsonSchema = z.union([z.boolean(), z.record(z.string(), z.unknown())]);

export const descriptorSchema = z
  .looseObject({
    description: z.string(),
    roles: z.record(z.string(), z.looseObject({ description: z.string(), schema: jsonSchema })),
  })
  .openapi("Descriptor");

export const workflowRowSchema = z
  .object({
    name: z.string(),
    hash,
    timestamp: milliseconds,
    description: z.string(),
    versions: z.number(),
  })
  .openapi("WorkflowRow");

export const workflowSchema = z
  .object({
    name: z.string(),
    hash,
    timestamp: milliseconds,
    history: z.array(z.object({ hash, timestamp: milliseconds })),
    descriptor: descriptorSchema.nullable(),
  })
  .openapi("Workflow");

export const versionRowSchema = z
  .object({ hash, timestamp: milliseconds, current: z.boolean(), threads: z.number() })
  .openapi("VersionRow");

export const addedSchema = z
  .object({
    name: z.string(),
    hash,
    unchanged: z.boolean(),
    warnings: z.array(z.string()).openapi({
      description: "Findings of a step workflow's check that do not prevent it from running.",
    }),
  })
  .openapi("AddedWorkflow");

export const rolledBackSchema = z
  .object({ name: z.string(), hash, previous: z.string() })
  .openapi("RolledBack");

export const removedSchema = z.object({ name: z.string() }).openapi("RemovedWorkflow");

export const bundleSchema = z
  .object({
    workflow: z.string().openapi({ description: "The name it was asked by, or the hash." }),
    hash,
    bytes: z.number(),
    descriptor: descriptorSchema.nullable(),
    sources: z.array(z.string()).openapi({
      description: "The files that it was built from, as far as its source map holds their text.",
    }),
  })
  .openapi("Bundle");

export const formSchema = z
  .object({
    workflow: z.string(),
    hash,
    description: z.string(),
    input: jsonSchema.nullable().openapi({
      description: "The descriptor's `input`: what `params` must be. Null when it has none.",
    }),
  })
  .openapi("RunForm");
