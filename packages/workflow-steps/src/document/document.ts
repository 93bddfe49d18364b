/**
 * One step of a step workflow, as it is written. Which fields a step may have depends on its type
 * (`getStepType`); the validator says so, not this type.
 */
export type StepDocument = {
  id: string;
  /** Wins over the type that the id's prefix names. */
  type?: string;
  /** For people: a title, a place on a canvas. Never read by the interpreter but for `title`. */
  meta?: Record<string, unknown>;
  print?: unknown;
  if?: unknown;
  in?: Record<string, unknown>;
  input?: Record<string, unknown>;
  /** A list of variables, or targets (`$path`, `/path`) with what each gets. */
  out?: string | Record<string, unknown>;
  /** The id of a step, `RETURN` or `BREAK`. */
  next?: string;
  children?: string[];
  /** Of a Branch: `[when, stepId]`, the last one's `when` may be `ELSE`. */
  cases?: [unknown, string][];
  /** Of a Loop. */
  source?: unknown;
  while?: unknown;
  maxIterations?: number;
  /** Of a Loop: `serial` or `parallel`; of a Write: `overwrite`, `failIfExists`, `append` or `prepend`. */
  mode?: string;
  errorStrategy?: string;
  /** Of a Set and a Write. */
  target?: unknown;
  value?: unknown;
  /** Of a Pause and a Stop. */
  reason?: unknown;
  resumeResultTarget?: string;
  /** Of a Pause `{sec, on}`; of a Tool the milliseconds that it may take. */
  timeout?: { sec: number; on: string } | number;
  onError?: string;
  tool?: string;
  toolName?: string;
  allowError?: boolean;
  continueOnError?: boolean;
  model?: unknown;
  provider?: unknown;
  stream?: unknown;
  [field: string]: unknown;
};

/** `{id, method, url, auth, headers, desc}`, the endpoint of `API_<id>`. */
export type ApiDocument = {
  id: string;
  method?: string;
  url: string;
  auth?: unknown;
  headers?: Record<string, string>;
  desc?: string;
};

/** What the steps may use. Declarations are texts: `name(TYPE)`, `$name(TYPE) = 3`. */
export type RegistryDocument = {
  params?: string[];
  vars?: string[];
  services?: string[];
  apis?: ApiDocument[];
  components?: (string | { id: string; [field: string]: unknown })[];
  files?: { inputs?: string[]; artifacts?: string[] };
  docs?: Record<string, string>;
  schemas?: Record<string, unknown>;
};

/** A step workflow, as its JSON has it. The order of `steps` has no meaning. */
export type WorkflowDocument = {
  version: string;
  name: string;
  workflowType?: string;
  description?: string;
  registry: RegistryDocument;
  steps: StepDocument[];
  [field: string]: unknown;
};
