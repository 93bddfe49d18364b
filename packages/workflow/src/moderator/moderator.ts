import { type OpenAttempt, openAttempt, opensAttempts, usesAttempt } from "../contract/attempt.ts";
import { END, type RecordedAnswers, WAIT, type WorkflowFn } from "../contract/contract.ts";
import { answersFromFixture } from "../contract/fixture.ts";
import { AskedMeanwhile } from "../contract/question.ts";
import { kindOf, show } from "../contract/show.ts";
import { sentInput } from "../contract/wait.ts";
import type { Moderator, Role, RoleMeta, RoleResult, ThreadContext } from "./context.ts";
import { ContextHistory, waitOf, waitResult } from "./history.ts";
import { surrounded } from "./surround.ts";
import { badRoleResult, unknownRole } from "./errors.ts";

/**
 * Makes a workflow of roles and a routing function.
 *
 * The moderator is called with the whole thread and names the next role, whose output becomes a step, until it returns
 * `END` or the thread has `maxRounds` steps. A resumed or forked thread continues automatically: the moderator sees the
 * recorded steps.
 *
 *     export const run = createRoleModerator<{ planner: { files: string[] }; coder: { diff: string } }>({
 *       roles: { planner, coder },
 *       moderator: (ctx) => (ctx.steps.length === 0 ? "planner" : END),
 *     });
 *
 * @param definition The default `summary` is the last step's content, in at most 200 characters.
 * @param clock `now` returns the time of the new steps in `ctx.steps`, in milliseconds since the epoch.
 * @throws WorkflowError from the running thread: `UNKNOWN_ROLE`, `BAD_ROLE_RESULT`, and `CONTEXT_CHANGED` when a role
 *   changes `ctx.steps`. Errors of roles are passed on.
 */
export function createRoleModerator<M extends RoleMeta>(
  definition: {
    roles: { [K in keyof M & string]: Role<M[K]> };
    moderator: Moderator<M>;
    summary?: (ctx: ThreadContext<M>) => string;
  },
  { now = Date.now }: { now?: () => number } = {},
): WorkflowFn {
  const { roles, moderator, summary = lastContent } = definition;
  const workflow: WorkflowFn = async function* run(input, options) {
    const history = new ContextHistory(input, options, now);
    const { context } = history;
    const { recorded } = options;
    const typed = context as unknown as ThreadContext<M> & ThreadContext;
    while (history.length < options.maxRounds) {
      const name = moderator(typed);
      if (name === END) break;
      const own = roleNamed<M>(roles, name);
      const n = history.nextOf(name);
      const play = recorded === undefined ? own : answered(own, () => recorded(name, n));
      const attempt = openAttempt(options, { role: name });
      const asked = new AskedMeanwhile();
      const playing = execute(play, attempt, {
        ...context,
        role: name,
        key: history.keyOf(name),
        questions: history.questions.for(asked.ask, options.signal),
      });
      for (let one = await asked.next(playing); one; one = await asked.next(playing)) {
        const given = history.questions.given(one.wait);
        if (given) {
          one.answer(given);
          continue;
        }
        const answer = sentInput(yield one.wait, String(one.wait.meta.for));
        history.add(one.wait);
        history.add(answer);
        one.answer(answer);
      }
      const result = await playing;
      history.checkUnchanged(name);
      const wait = waitOf(name, result);
      const output = wait ?? { role: name, content: result.content, meta: result.meta };
      const sent: unknown = yield { ...output, attempt: attempt.id };
      history.add(output);
      if (wait !== null) history.add(sentInput(sent, String(wait.meta.for)));
    }
    return { returnCode: 0, summary: summary(typed) };
  };
  return Object.assign(workflow, { [opensAttempts]: true, [answersFromFixture]: "each" });
}

/** Returns a role that returns its recorded result, if there is one, even for a role that asks. */
function answered(
  own: Role<RoleMeta[string]>,
  recorded: () => ReturnType<RecordedAnswers>,
): Role<RoleMeta[string]> {
  const play: Role<RoleMeta[string]> = async (ctx) => {
    const found = recorded();
    if (found === null) return await own(ctx);
    const { role, content, meta } = found;
    return role === WAIT ? waitResult({ content, meta }) : { content, meta };
  };
  return Object.assign(play, own);
}

async function execute(
  role: Role<RoleMeta[string]>,
  attempt: OpenAttempt,
  context: ThreadContext & { role: string },
): Promise<RoleResult<RoleMeta[string]>> {
  const own = usesAttempt in role ? { attempt } : {};
  try {
    const given = Object.freeze({ ...context, ...own });
    const { value, spent } = await attempt.run(() => surrounded(given, () => role(given)));
    const result = resultOf(context.role, value);
    if (!spent) return result;
    return { ...result, meta: { ...result.meta, __durable__: { spent } } };
  } catch (error) {
    attempt.end(context.signal?.aborted ? "cancelled" : "failed", error);
    throw error;
  }
}

function roleNamed<M extends RoleMeta>(
  roles: { [K in keyof M & string]: Role<M[K]> },
  name: keyof M & string,
): Role<RoleMeta[string]> {
  const role: unknown =
    typeof name === "string" && Object.hasOwn(roles, name) ? roles[name] : undefined;
  if (typeof role === "function") return role as Role<RoleMeta[string]>;
  const given = typeof name === "string" ? show(name) : kindOf(name);
  throw unknownRole(given, Object.keys(roles));
}

/** Checks the shape of a result. The values of meta are checked before the step is written. */
function resultOf(role: string, result: unknown): RoleResult<RoleMeta[string]> {
  const { content, meta } = (result ?? {}) as Partial<RoleResult<unknown>>;
  const sound = typeof content === "string" && typeof meta === "object" && meta !== null;
  if (sound) return result as RoleResult<RoleMeta[string]>;
  let given = kindOf(result);
  if (given === "an object") given = `{content: ${kindOf(content)}, meta: ${kindOf(meta)}}`;
  throw badRoleResult(role, given);
}

function lastContent({ steps }: ThreadContext): string {
  const line = steps.at(-1)?.content.slice(0, 1000).trim().replace(/\s+/g, " ") ?? "nothing to do";
  return line.length > 200 ? `${line.slice(0, 199)}…` : line;
}
