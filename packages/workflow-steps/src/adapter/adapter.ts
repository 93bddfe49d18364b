// Types of the adapters, which do all I/O of the interpreter.

/** A message of a conversation with a model. `content` is text or the provider's content blocks. */
export type LLMMessage = { role: "user" | "assistant"; content: unknown };

/** A tool that a model may call. */
export type LLMTool = { name: string; description?: string; input_schema?: unknown };

/** The required form of the answer. `schemaRef` names one of the registry's schemas. */
export type OutputConfig = {
  type: "text" | "json_object" | "json_schema";
  schema?: object;
  schemaRef?: string;
};

/** One call of a model. `model` is always set; `inputs` are the step's other inputs. */
export type LLMParams = {
  model: string;
  provider?: string;
  system?: string;
  messages: LLMMessage[];
  stream?: boolean;
  tools?: LLMTool[];
  docs?: number[];
  output_config?: OutputConfig;
  max_tokens?: number;
  temperature?: number;
  thinking?: unknown;
  inputs?: Record<string, unknown>;
};

/** The tokens of a call, as reported by the provider. */
export type LLMUsage = {
  input_tokens: number;
  output_tokens: number;
  thinking_tokens?: number;
  [count: string]: number | undefined;
};

export type ToolUseBlock = { id: string; name: string; input: unknown };

export type ToolResultBlock = { tool_use_id: string; content: string; is_error?: boolean };

/** The answer of a model. */
export type LLMResult = {
  content: unknown;
  model?: string;
  id?: string;
  finish_reason?: string;
  stop_reason?: string;
  usage?: LLMUsage;
  /** The cost in US dollars; null if the price is unknown. */
  cost?: number | null;
  /** The provider that answered, if the call did not name a provider. */
  provider?: string;
  tool_calls?: ToolUseBlock[];
  tool_use?: ToolUseBlock[];
  thinking?: string;
};

/** Callbacks for a streamed answer. */
export type LLMCallbacks = {
  onToken: (delta: string) => void;
  onThinking: (delta: string) => void;
  onToolUse: (toolUse: ToolUseBlock) => void;
  onToolResult: (toolResult: ToolResultBlock) => void;
};

/** The last argument of every adapter. `signal` aborts with the run; `key` is the step's {@link ToolRuntime.key}. */
export type CallSurroundings = { signal: AbortSignal; runID: string; stepID: string; key?: string };

/** Calls a model. An adapter that takes only `(params, onToken)` works as well. */
export type LLMAdapter = {
  call(
    params: LLMParams,
    onToken: (delta: string) => void,
    callbacks: LLMCallbacks,
    surroundings: CallSurroundings,
  ): Promise<LLMResult>;
};

export type FileMode = "overwrite" | "failIfExists" | "append" | "prepend";

/**
 * Files under one root folder. Paths are relative to the root, without a leading slash. If `write` returns no size, the
 * events report the size of the data.
 */
export type FileAdapter = {
  read(path: string): Promise<Uint8Array | string>;
  write(
    path: string,
    data: string | Uint8Array,
    mode: FileMode,
  ): Promise<{ size_bytes: number } | void>;
  exists(path: string): Promise<boolean>;
  remove(path: string): Promise<void>;
  list(glob: string): Promise<string[]>;
  /** Returns the files of a zip archive under the root, for Unzip. */
  unzip?(path: string): Promise<{ path: string; data: Uint8Array }[]>;
};

/** Documents by id, for a model's system prompt. */
export type DocAdapter = {
  get(ids: readonly DocId[]): Promise<{ id: DocId; title: string; text: string }[]>;
};
type DocId = number | string;

/** A request of an API step. */
export type ApiRequest = {
  id: string;
  method: string;
  url: string;
  headers: Record<string, string>;
  query?: Record<string, unknown>;
  body?: unknown;
  /** The timeout in milliseconds. */
  timeout?: number;
  /** Whether the response's `data` must be bytes (`Uint8Array`), whatever its content type. */
  bytes?: boolean;
  /** Whether a header contains a secret. Such a call never follows a redirect to another origin. */
  hasCredential?: boolean;
  signal: AbortSignal;
};

/** Sends the requests of API steps. */
export type ApiAdapter = {
  request(
    request: ApiRequest,
  ): Promise<{ status: number; headers: Record<string, string>; data: unknown }>;
};

/** Calls a service by name. `_result` is the `data` of the answer if that is truthy, otherwise the whole answer. */
export type ServiceAdapter = {
  call(name: string, params: unknown, surroundings: CallSurroundings): Promise<unknown>;
};

/** Calls the components of Component steps. */
export type ComponentAdapter = ServiceAdapter;

/** Lets a running tool report progress, each report as a `tool_message` event. `signal` aborts the tool. */
export type ToolRuntime = {
  emit(type: string, payload?: unknown): void;
  text(message: string, meta?: unknown): void;
  info(message: string, data?: unknown): void;
  warn(message: string, data?: unknown): void;
  error(message: string, data?: unknown): void;
  progress(message: string, data?: unknown): void;
  signal: AbortSignal;
  /**
   * An idempotency key. It stays the same when the step runs again after a crash, in a retry and in a fork. Absent
   * outside a thread.
   */
  key?: string;
};

/** Runs a tool. A returned object with `error` is a failure; its `result`, if present, is the result. */
export type ToolAdapter = {
  execute(name: string, input: unknown, runtime: ToolRuntime): Promise<unknown>;
};

/** All adapters are optional. A step whose adapter is missing fails with an error that names the adapter. */
export type Adapters = {
  llm?: LLMAdapter;
  file?: FileAdapter;
  doc?: DocAdapter;
  api?: ApiAdapter;
  service?: ServiceAdapter;
  component?: ComponentAdapter;
  tool?: ToolAdapter;
};
