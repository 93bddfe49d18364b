// The process in which `inspect.ts` loads a bundle: a stranger's code runs here.
import { pathToFileURL } from "node:url";
import { isWorkflowError, toErrorRecord } from "../contract/error.ts";
import { checkRun, loadProblem, type LoadProblem, toBundle } from "./module.ts";
import { openChannel } from "./child.ts";
import { checkDescriptor } from "./descriptor.ts";
import type { InspectAnswer, InspectRequest } from "./inspect.ts";
import { guardRequires } from "./require-guard.ts";

const { request: asked, answer } = openChannel();
const request = asked as InspectRequest;
const nextTurn = () => new Promise<void>((done) => later(done));
const later = setImmediate;

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

try {
  const module = (await import(pathToFileURL(request.path).href)) as object;
  // A rejection that nobody handles is reported a turn later.
  await nextTurn();
  const bundle = toBundle(module);
  checkRun(bundle);
  const { descriptor } = bundle;
  answer(
    (required.length > 0
      ? { required }
      : { descriptor: await checkDescriptor(descriptor) }) satisfies InspectAnswer,
  );
} catch (thrown) {
  answerError(thrown);
}
