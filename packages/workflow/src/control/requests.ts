import { z } from "zod";
import { messageOf } from "../contract/error.ts";
import { isHash, threadIdPattern } from "../contract/names.ts";
import { answeredBy } from "./answered-by.ts";
import {
  type AnswerRequest,
  engineOptions,
  type LeaveRequest,
  mostRounds,
  type RemoveRequest,
  type ResumeRequest,
  type StartRequest,
  type WakeRequest,
} from "./control.ts";
import { badRequest } from "./errors.ts";

const threadId = z.string().regex(threadIdPattern, "not a thread id");
const count = z.int().nonnegative();
const environment = z.record(z.string(), z.string());
const object = z.record(z.string(), z.unknown());

const surroundings = z.looseObject({
  env: environment,
  secrets: z.array(z.string()).optional(),
  durability: z.enum(["step", "os"]).optional(),
});

const input = z.looseObject({
  content: z.string(),
  meta: object.optional(),
  by: answeredBy.optional(),
});

const isAscending = (list: readonly number[]): boolean =>
  list.every((n, at) => at === 0 || n > (list[at - 1] as number));

const fork = z.looseObject({
  hash: z.string().refine(isHash, "not a hash"),
  threadId,
  keep: z.union([
    z.array(count).refine(isAscending, "not in ascending order"),
    z.looseObject({ first: count }),
  ]),
  edit: z
    .looseObject({
      content: z.string().optional(),
      meta: object.optional(),
      by: answeredBy.optional(),
    })
    .optional(),
  input: input.optional(),
  isRerun: z.literal(true).optional(),
  anew: z.boolean().optional(),
});

/** Options of a start request. Of the options that the engine sets, only `cwd` is allowed. */
const options = z
  .looseObject({ cwd: z.string().optional() })
  .refine(
    (given) => Object.keys(given).every((name) => name === "cwd" || !engineOptions.has(name)),
    "has an option that only the engine may set",
  );

const start = surroundings.extend({
  threadId,
  isGiven: z.boolean().optional(),
  workflow: z.string().min(1),
  prompt: z.string().optional(),
  maxRounds: z.int().min(1).max(mostRounds).optional(),
  options: options.optional(),
  input: input.optional(),
  fork: fork.optional(),
  traceparent: z.string().optional(),
});

const answer = surroundings.extend({ input, question: z.int().optional() });
const failed = z.looseObject({ error: object });
const waking = surroundings.extend({
  folders: z.record(z.string(), z.union([failed, z.looseObject({ env: environment })])),
});
const leaving = z.looseObject({ to: z.looseObject({ id: z.string(), name: z.string() }) });
const removal = z.looseObject({ force: z.boolean() });

/**
 * Returns a function that parses the body of a request and throws a WorkflowError `BAD_REQUEST` (usage) if it is
 * invalid.
 */
const reader =
  <Request>(schema: z.ZodType) =>
  (body: string): Request => {
    let request: unknown;
    try {
      request = JSON.parse(body);
    } catch (error) {
      throw badRequest(`invalid JSON: ${messageOf(error)}`);
    }
    const { success, error } = schema.safeParse(request);
    // Return the original: a copy would lose a key named `__proto__`.
    if (success) return request as Request;
    const [issue] = error.issues;
    throw badRequest(`${issue?.path.join(".") || "request"}: ${issue?.message}`);
  };

export const startRequest = reader<StartRequest>(start);
export const resumeRequest = reader<ResumeRequest>(surroundings);
export const wakeRequest = reader<WakeRequest>(waking);
export const answerRequest = reader<AnswerRequest>(answer);
export const leaveRequest = reader<LeaveRequest>(leaving);
export const removeRequest = reader<RemoveRequest>(removal);
