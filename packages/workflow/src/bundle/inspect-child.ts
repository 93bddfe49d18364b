// The process that `inspect.ts` starts to load a bundle. Foreign code runs in it.
import { pathToFileURL } from "node:url";
import { isWorkflowError, toErrorRecord } from "../contract/error.ts";
import { checkRun, loadProblem, type LoadProblem, positionsIn, toBundle } from "./module.ts";
import { openChannel } from "./child.ts";
import { checkDescriptor } from "./descriptor.ts";
import type { InspectAnswer, InspectRequest, ReadAtLoad } from "./inspect.ts";
import { guardRequires } from "./require-guard.ts";

const { request: asked, answer } = openChannel();
const request = asked as InspectRequest;
const nextTurn = () => new Promise<void>((done) => later(done));
const later = setImmediate;

const mostReads = 100;
const required: LoadProblem[] = [];
guardRequires(request.path, (refused) => required.push(refused));

const answerError = (thrown: unknown) => {
  if (required.length > 0) return answer({ required } satisfies InspectAnswer);
  const verdict = isWorkflowError(thrown)
    ? { refused: toErrorRecord(thrown) }
    : { problem: loadProblem(thrown, request.path) };
  answer(verdict satisfies InspectAnswer);
};
process.on("uncaughtException", answerError);
process.on("unhandledRejection", answerError);

const reads = new Map<string, ReadAtLoad>();
const endWatch = watchReads((what) => {
  if (reads.has(what) || reads.size === mostReads) return;
  const { stack } = new Error();
  reads.set(what, { what, positions: positionsIn(stack ?? "", request.path) });
});

try {
  const module = (await import(pathToFileURL(request.path).href)) as object;
  // The runtime reports an unhandled rejection in the next turn of the event loop.
  await nextTurn();
  endWatch();
  const bundle = toBundle(module);
  checkRun(bundle);
  const { descriptor } = bundle;
  answer(
    (required.length > 0
      ? { required }
      : {
          descriptor: await checkDescriptor(descriptor),
          reads: [...reads.values()],
        }) satisfies InspectAnswer,
  );
} catch (thrown) {
  answerError(thrown);
}

/**
 * Calls `onRead` for each read of this process's environment variables and working directory. Returns a function that
 * ends the reports.
 */
function watchReads(onRead: (what: string) => void): () => void {
  const { env } = process;
  const cwd = process.cwd.bind(process);
  let isOver = false;
  const report = (what: string) => {
    if (isOver) return;
    Error.stackTraceLimit = 50;
    onRead(what);
  };
  process.env = new Proxy(env, {
    get(target, key) {
      if (typeof key === "string" && !(key in Object.prototype)) report(`process.env.${key}`);
      return Reflect.get(target, key);
    },
    has(target, key) {
      if (typeof key === "string") report(`process.env.${key}`);
      return Reflect.has(target, key);
    },
    ownKeys(target) {
      report("process.env");
      return Reflect.ownKeys(target);
    },
  });
  process.cwd = () => {
    report("process.cwd()");
    return cwd();
  };
  return () => (isOver = true);
}
