import { z } from "@hono/zod-openapi";
import { threadIdPattern } from "@uncaged/workflow/internal";
import { statusSchema } from "./thread.ts";
import {
  count,
  number,
  optionalFields,
  optionalNumber,
  optionalText,
  stepNumber,
  text,
} from "./value.ts";

const latestTime = 8.64e15 - 1;
const durability = z.enum(["step", "os"]).optional();
const anyVersion = text.describe("A name, name@hash, or the hash of a bundle.");

export const idPath = z.object({
  id: text.describe("A thread's id, any unique beginning or ending of it, or @last."),
});

export const namePath = z.object({ name: text.describe("A workflow's name.") });
export const versionPath = z.object({ workflow: anyVersion });

const amount = text
  .regex(/^\d{1,15}(\.\d{1,15})?$/, "must be a number")
  .transform(Number)
  .pipe(number)
  .openapi({ type: "number", minimum: 0 });
const moment = count(0, latestTime).optional();

export const threadsFilter = z.object({
  status: z
    .union([statusSchema, z.array(statusSchema)])
    .optional()
    .describe("Only threads with this status; can be repeated."),
  workflow: text
    .regex(
      /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}(@[0-9A-Za-z]{1,13})?$/,
      "must be a name, name@hash or a hash",
    )
    .optional()
    .describe(
      "Only threads of this name, name@hash or hash. A hash may be shortened to any unique " +
        "beginning, of at least 4 digits without a name.",
    ),
  search: text
    .max(1000)
    .optional()
    .describe(
      "Only threads with all of these words in their id, name, roles, prompt, params, question, result or error.",
    ),
  since: moment.describe("Only threads created at this time or later, in milliseconds."),
  until: moment.describe("Only threads created at this time or earlier, in milliseconds."),
  minWorkedMs: count(0, latestTime)
    .optional()
    .describe("Only threads that worked for at least this time."),
  minCost: amount.optional().describe("Only threads that cost at least this, in US dollars."),
  hasError: z
    .literal("true")
    .transform(() => true as const)
    .optional()
    .describe("Only threads that failed or have a failed attempt."),
});

export const threadsQuery = threadsFilter.extend({
  limit: count(1, 1000).default(20),
  offset: count(0, 1_000_000_000).default(0),
  before: text
    .regex(threadIdPattern, "must be a thread's whole id")
    .optional()
    .describe("Only threads older than this thread, even if it was removed."),
});

const draft = optionalText.describe(
  "The text of an agent graph or a step workflow, as JSON. It is checked and built, without a name.",
);

export const startBody = z
  .strictObject({
    workflow: anyVersion.optional(),
    document: draft,
    name: optionalText.describe(
      "The workflow name that the thread shows. Default: the name of the workflow or of the document.",
    ),
    prompt: optionalText,
    maxRounds: optionalNumber,
    params: z.unknown().optional(),
    options: optionalFields,
    threadId: optionalText.describe(
      "A ULID of the caller: a repeated request with the same ULID starts no second thread.",
    ),
    durability,
  })
  .refine(({ workflow, document }) => (workflow === undefined) !== (document === undefined), {
    message: "give either workflow or document",
  })
  .openapi("StartThread");

export const resumeBody = z.strictObject({ durability }).openapi("ResumeThread");
export const killBody = z.strictObject({ force: z.boolean().optional() }).openapi("KillThread");

const inputSchema = z.strictObject({
  content: text.describe("The answer as text."),
  value: z.unknown().optional().openapi({
    description: "The answer as JSON. If absent, the text is converted by the question's schema.",
  }),
  meta: optionalFields,
});

export const inputBody = inputSchema
  .extend({
    content: optionalText.describe("The answer as text; required without a value."),
    question: stepNumber
      .optional()
      .describe(
        "The number of the answered `__wait__` step. If another step waits: 409 `STALE_ANSWER`.",
      ),
    durability,
  })
  .openapi("AnswerThread");

const keepSchema = z.union([
  z.strictObject({ fromRole: text }),
  z.strictObject({ atStep: z.number() }),
  z.strictObject({ steps: z.array(z.number()) }),
]);

export const retryBody = z
  .strictObject({
    prompt: optionalText,
    params: z
      .unknown()
      .optional()
      .openapi({ description: "Other params. Default: the same params." }),
    maxRounds: optionalNumber,
    options: optionalFields,
    edit: z.strictObject({ content: optionalText, meta: optionalFields }).optional(),
    on: optionalText.describe("Another version to continue with."),
    threadId: optionalText,
    durability,
  })
  .openapi("RetryThread");

export const forkBody = retryBody
  .extend({
    keep: keepSchema
      .optional()
      .describe(
        "The steps to keep: up to a role's last step, the first N, or a list from 0. " +
          "Default: all but the last step, which runs again.",
      ),
    input: inputSchema
      .optional()
      .describe("An answer to the last kept step, which must be a question."),
    document: draft,
    name: optionalText.describe("The workflow name that the new thread shows. Default: the same."),
  })
  .refine(({ on, document }) => on === undefined || document === undefined, {
    message: "give either on or document",
  })
  .openapi("ForkThread");

export const rollbackBody = z.strictObject({ version: optionalText }).openapi("RollBackWorkflow");

export const checkBody = z
  .strictObject({
    version: text.describe("The version: a hash, name@hash or a name."),
    threads: z
      .int()
      .min(1)
      .max(100_000)
      .optional()
      .describe("Checks only the newest. Default: all that have not ended, and the newest 100."),
  })
  .openapi("CheckWorkflow");

export const addQuery = z.object({
  file: text.openapi({
    description:
      "The file's name, with an extension: .esm.js is a bundle; .ts, .mts, .tsx are sources; " +
      ".json, .yaml, .yml are step workflows and agent graphs. With several files: the path of the workflow's own file.",
    example: "review.ts",
  }),
  expects: text
    .regex(/^([0-9A-Za-z]{13}|none)$/, "must be a hash, or none")
    .optional()
    .describe(
      "The hash that must be the current version; `none` for a name that must be new. Else 409 `VERSION_CONFLICT`, " +
        "and nothing is changed.",
    ),
});

export const filesBody = z
  .strictObject({
    files: z.record(text, text).openapi({
      description:
        "The texts of the workflow's own file and of the files that it imports, by their paths in one " +
        "folder: at most 1,000.",
      example: { "flow.ts": 'import { ask } from "./lib/ask.ts";', "lib/ask.ts": "export …" },
    }),
  })
  .openapi("WorkflowFiles");
