import type { StepType } from "../document/step-type.ts";

/** What an editor says of each type of step. */
export const typeTexts: Readonly<Record<StepType, string>> = {
  Service: "Calls the service that registry.services declares as the id says: Service_<Name>.",
  API: "Calls the HTTP endpoint that registry.apis declares as the id says: API_<id>.",
  Component: "Calls the component that the id names: Component_<id>.",
  LLM: "Asks a model. Its answer is _result.",
  Set: "Writes a value to a variable.",
  Write: "Writes a file.",
  Download: "Fetches a file from an http address.",
  Unzip: "Unpacks an archive.",
  Pause: "Waits for an answer from outside.",
  Branch: "Goes on in the chain of the first case that holds, then at next.",
  Loop: "Runs its children for each item of source, or as long as while holds.",
  Stop: "Ends the run.",
  Noop: "Does nothing of its own: a place for children, for print or for a join.",
  Tool: "Runs a tool. Its name is tool, or what the id says: Tool_010_ReadFile runs ReadFile.",
  Subflow: "Runs another step workflow, given as workflow_path with params.",
};

/** What an editor says of the fields of a document; a path leads through objects and arrays. */
export const documentTexts: Readonly<Record<string, string>> = {
  version: "The version of the format. It switches nothing; it tells readers what to expect.",
  name: "The name of the workflow.",
  workflowType: "Whom the workflow is made for. IDE workflows use no services.",
  description: "What the workflow is for.",
  registry: "What the steps may use.",
  steps: "The steps. Their order has no meaning: the first is the one that no other step names.",
  "registry.params": "What a run is started with, read-only: name(TYPE), or name(TYPE) = default.",
  "registry.vars": "What steps write and read: $name(TYPE), or $name(TYPE) = default.",
  "registry.services": "Services by their signatures: Name(p(TYPE)) RETURN r(TYPE).",
  "registry.apis": "HTTP endpoints for API steps.",
  "registry.apis.id": "What the id of an API step says behind API_.",
  "registry.apis.url": "The address. {name} in it is filled in from pathParams.",
  "registry.apis.method": "The HTTP method, GET when it is missing.",
  "registry.apis.auth": "How the request is signed.",
  "registry.apis.headers": "Headers of each request.",
  "registry.apis.desc": "What the endpoint is for.",
  "registry.components": "Components by name, or as objects with an id.",
  "registry.components.id": "What the id of a Component step says behind Component_.",
  "registry.files": "Which files the steps may touch.",
  "registry.files.inputs": "Globs of the files that are read only.",
  "registry.files.artifacts":
    "Globs of the files that may be written. Without one: any below the root.",
  "registry.docs": "Titles of documents by their ids, for docs of LLM steps.",
  "registry.schemas": "JSON Schemas by name, for schemaRef.",
};

const result = "_result is what the call gave";

/** What an editor says of a step's fields; `Type.field` wins over `field`. */
export const fieldTexts: Readonly<Record<string, string>> = {
  id: "A type, _ and a name: LLM_Plan. RETURN, BREAK, ELSE and what begins with __ are reserved.",
  type: "The type, when it is not what stands before the first _ of the id.",
  meta: "For people only: a title, a place on a canvas.",
  print: "Evaluated when the step is done, and told as step_print.",
  if: "An expression. When it is false the step and its children are skipped.",
  in: "The inputs. Each text that begins with = is an expression; == stands for a literal =.",
  input: "Another name of in.",
  out: `What is written where, by $path or /path: {"$x": "=_result"}, short "$x". ${result}.`,
  next: "The id of the step that follows, RETURN to end the chain, BREAK to leave the loop.",
  children:
    "The first steps of chains that run side by side. The step goes on when all have ended.",
  errorStrategy:
    "What happens when a child fails: all is aborted, it is left out, or all end first.",
  cases: 'Pairs of a condition and a step\'s id. The last condition may be "ELSE".',
  while: "An expression, tested before each iteration. Needs maxIterations.",
  source: "Where the file is read from.",
  maxIterations: "The most rounds. When they are done the loop has ended as usual.",
  mode: "How a file that is there is treated.",
  target: "Where the file is written.",
  value: "What is written: a value, or an expression.",
  reason: "Why, for people.",
  resumeResultTarget: "The $path that gets the answer.",
  timeout: "The most milliseconds that the call may take.",
  "timeout.sec": "Seconds to wait for an answer.",
  "timeout.on": "The id of the step to go on at when nobody answered in time.",
  onError: "The id of the step to go on at when this one fails. _error is readable there.",
  tool: "The name of the tool.",
  toolName: "Another name of tool.",
  allowError:
    "Whether the workflow goes on when the tool fails, with {ok, error, tool} as _result.",
  continueOnError: "Another name of allowError.",
  model: "The model, also as provider/model. Without one LLM_MODEL says which.",
  provider: "Whose model it is.",
  stream: "Whether tokens are told as they come.",
  "Loop.children": "The first steps of the chains that run in each iteration.",
  "Loop.source": "An expression that gives the list to go over.",
  "Loop.mode": "Whether iterations run one after the other or side by side.",
  "Set.target": "The $path of a variable, such as $plan.steps[0].",
  "Write.target": "The path of the file, or an expression that gives it.",
  "Pause.timeout": "What to do when nobody answers.",
  "Stop.reason": "Why the run ends. It is the thread's summary.",
};
