import { z } from "@hono/zod-openapi";
import { threadIdPattern } from "@uncaged/workflow/host";
import { statusSchema } from "./thread.ts";

const fields = z.record(z.string(), z.unknown());
const durability = z.enum(["step", "os"]).optional();
export const flag = z.enum(["true", "false"]).optional();

/** A whole number of a query, written in digits. */
export const count = (least: number, most: number) =>
  z
    .string()
    .regex(/^\d{1,15}$/, "must be a whole number")
    .transform(Number)
    .pipe(z.number().min(least).max(most))
    .openapi({ type: "integer", minimum: least, maximum: most });

export const idPath = z.object({
  id: z.string().openapi({
    description: "A thread's id, any unique beginning or ending of it, or @last.",
  }),
});

export const namePath = z.object({
  name: z.string().openapi({ description: "A workflow's name." }),
});

export const versionPath = z.object({
  workflow: z.string().openapi({ description: "A name, name@hash, or the hash of a bundle." }),
});

export const threadsQuery = z.object({
  status: z
    .union([statusSchema, z.array(statusSchema)])
    .optional()
    .openapi({ description: "Only those with this status; may be given several times." }),
  workflow: z
    .string()
    .regex(
      /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}(@[0-9A-Za-z]{1,13})?$/,
      "must be a name, name@hash or a hash",
    )
    .optional()
    .openapi({
      description:
        "Only those of this name, name@hash or hash. A hash may be shortened to any unique " +
        "beginning, of at least 4 digits without a name.",
    }),
  limit: count(1, 1000).default(20),
  offset: count(0, 1_000_000_000).default(0),
  before: z.string().regex(threadIdPattern, "must be a thread's whole id").optional().openapi({
    description: "Only those older than this thread, even when it was removed since.",
  }),
  details: flag.openapi({ description: "Adds `role` and `spent` to each row." }),
});

export const startBody = z
  .object({
    workflow: z.string().openapi({ description: "A name, name@hash, or the hash of a bundle." }),
    prompt: z.string().optional(),
    maxRounds: z.number().optional(),
    params: z.unknown().optional(),
    options: fields.optional(),
    threadId: z.string().optional().openapi({
      description: "A ULID of the caller's: asking again with it starts nothing.",
    }),
    durability,
  })
  .openapi("StartThread");

export const resumeBody = z.object({ durability }).openapi("ResumeThread");

export const killBody = z.object({ force: z.boolean().optional() }).openapi("KillThread");

export const inputBody = z
  .object({
    content: z.string().openapi({ description: "The answer as text." }),
    value: z.unknown().optional().openapi({
      description: "What it is as JSON; when absent, the content's own value if it is JSON.",
    }),
    meta: fields.optional(),
    durability,
  })
  .openapi("AnswerThread");

const keepSchema = z.union([
  z.strictObject({ fromRole: z.string() }),
  z.strictObject({ atStep: z.number() }),
  z.strictObject({ steps: z.array(z.number()) }),
]);

export const retryBody = z
  .object({
    prompt: z.string().optional(),
    maxRounds: z.number().optional(),
    options: fields.optional(),
    edit: z.object({ content: z.string().optional(), meta: fields.optional() }).optional(),
    on: z.string().optional().openapi({ description: "Another version to go on with." }),
    threadId: z.string().optional(),
    durability,
  })
  .openapi("RetryThread");

export const forkBody = retryBody
  .extend({
    keep: keepSchema.optional().openapi({
      description:
        "The steps to keep: up to a role's last step, the first N, or a list from 0. " +
        "Without it all but the last step, which so runs again.",
    }),
    input: inputBody.omit({ durability: true }).optional().openapi({
      description: "An answer to put after the kept steps.",
    }),
  })
  .openapi("ForkThread");

export const rollbackBody = z
  .object({ version: z.string().optional() })
  .openapi("RollBackWorkflow");

export const addQuery = z.object({
  file: z.string().openapi({
    description:
      "The file's name, for its ending: .esm.js is a bundle; .ts, .mts, .tsx are sources; " +
      ".json, .yaml, .yml are step workflows. Of several files the path of the workflow's own.",
    example: "review.ts",
  }),
});

export const filesBody = z
  .object({
    files: z.record(z.string(), z.string()).openapi({
      description:
        "The texts of the workflow's own file and of those that it imports, by their paths in one " +
        "folder: at most 1,000.",
      example: { "flow.ts": 'import { ask } from "./lib/ask.ts";', "lib/ask.ts": "export …" },
    }),
  })
  .openapi("WorkflowFiles");
