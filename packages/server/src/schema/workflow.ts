import { z } from "@hono/zod-openapi";
import { hash, milliseconds, number, orNull, text, threadId } from "./value.ts";

const jsonSchema = z.union([z.boolean(), z.record(text, z.unknown())]);

export const descriptorSchema = z
  .looseObject({
    description: text,
    roles: z.record(text, z.looseObject({ description: text, schema: jsonSchema })),
  })
  .openapi("Descriptor");

export const workflowRowSchema = z
  .object({ name: text, hash, timestamp: milliseconds, description: text, versions: number })
  .openapi("WorkflowRow");

export const workflowSchema = z
  .object({
    name: text,
    hash,
    timestamp: milliseconds,
    history: z.array(z.object({ hash, timestamp: milliseconds })),
    descriptor: orNull(descriptorSchema),
  })
  .openapi("Workflow");

const figuresSchema = z.object({
  name: text,
  calls: number.describe("For a role its executions, for a model the attempts that called it."),
  tokens: number,
  cost: number,
  failed: number,
});

export const versionRowSchema = z
  .object({
    hash,
    sha256: text
      .nullable()
      .describe("The SHA-256 of the bundle in hexadecimal; null if none is recorded yet."),
    timestamp: milliseconds,
    current: z.boolean(),
    threads: number,
    completed: number,
    failed: number,
    p50Ms: number
      .nullable()
      .describe("The median `workedMs` of its ended threads; null without one."),
    p95Ms: number.nullable(),
    cost: number.describe("The known cost in US dollars."),
    tokens: number,
    newestFailure: z.object({ threadId, subject: text, error: text, at: milliseconds }).nullable(),
    days: z
      .array(z.object({ at: milliseconds, completed: number, failed: number }))
      .describe("The days (UTC) of the last 30 with threads, oldest first."),
    roles: z.array(figuresSchema),
    models: z.array(figuresSchema),
  })
  .openapi("VersionRow");

export const addedSchema = z
  .object({
    name: text,
    hash,
    unchanged: z.boolean(),
    warnings: z.array(text).describe("Warnings of the document's check."),
  })
  .openapi("AddedWorkflow");

export const rolledBackSchema = z
  .object({ name: text, hash, previous: text })
  .openapi("RolledBack");

export const checkSchema = z
  .object({
    hash,
    checked: number,
    continues: number,
    diverges: number,
    waits: number,
    ended: number,
    threads: z.array(
      z.object({
        threadId,
        status: z.enum(["continues", "diverges", "waits", "ended"]),
        at: z
          .object({ step: number, recorded: text.nullable(), expected: text.nullable() })
          .nullable()
          .describe("The first difference; null without one."),
      }),
    ),
  })
  .openapi("VersionCheck");

export const removedSchema = z.object({ name: text }).openapi("RemovedWorkflow");

export const bundleSchema = z
  .object({
    workflow: text.describe("The requested name, or the hash."),
    hash,
    bytes: number,
    descriptor: orNull(descriptorSchema),
    sources: z
      .array(text)
      .describe("The files that it was built from, if its source map has their text."),
    document: orNull(text).describe("The file that is an agent graph or a step workflow."),
  })
  .openapi("Bundle");

export const documentSchema = z
  .object({
    workflow: text.describe("The requested name, or the hash."),
    hash,
    kind: z.enum(["graph", "steps"]).describe("An agent graph, or a step workflow."),
    file: text.describe("The name of its file, with an extension for JSON or YAML."),
    text: text.describe("The text of the document as it was saved."),
    subflows: z
      .record(text, text)
      .describe(
        "For a step workflow: the JSON of its child workflows, by their paths from its file.",
      ),
  })
  .openapi("SavedDocument");

export const toolSchema = z
  .object({
    name: text,
    description: text,
    input: jsonSchema.describe("The JSON Schema of its input."),
    timeoutMs: number.describe("The default timeout of a call in milliseconds."),
  })
  .openapi("Tool");

export const formSchema = z
  .object({
    workflow: text,
    hash,
    description: text,
    input: jsonSchema
      .nullable()
      .describe("The descriptor's `input`, the JSON Schema of `params`; null without one."),
  })
  .openapi("RunForm");
