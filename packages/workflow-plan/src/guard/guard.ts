import { forEachChild, parse, type Redirection, type SyntaxNode } from "unbash";
import { absolute, isProtected, maybeSystemRoot, namesProtected, unknown } from "./paths.ts";
import {
  checkAssignment,
  checkProgram,
  type Effects,
  nameOf,
  Refusal,
  refuse,
  refuseUnknown,
  scriptOf,
  shown,
} from "./programs.ts";
import { expand, type Field, isUnknown, literal, namesIn, type Variables } from "./words.ts";

/*
 * Checks a command before an agent executes it. The check prevents an agent's mistakes; the sandbox stops a hostile
 * agent.
 *
 * This file has the rules of refusal. The parser is unbash. `programs.ts` has the effects of programs. `hook.ts` calls
 * the check.
 *
 * G1 The check refuses a script that it can't parse, and refuses if it fails itself.
 * G2 The check refuses a command unless it can determine each program that runs, each script that a shell executes and
 *    each path that is removed recursively.
 * G3 The value of a variable is known after an assignment that certainly ran, if the script has no other assignment to
 *    the variable.
 * G4 A relative path is checked against each directory that an earlier `cd` may have entered.
 * G5 Loops, functions and traps are checked again with the effects of all commands that may run before them.
 */

/** The home directory, and the directory in which a command starts. */
export type Directories = { home: string; cwd: string };

/** Returns the reason why a command must not run, or null if it may run. */
export function refusalOf(command: string, { cwd, home }: Directories): string | null {
  try {
    if (command.includes(unknown)) refuse("it has a NUL character");
    const state = { home, cwds: new Set([cwd]), isFed: false, steps: { left: 20_000 } };
    new Check(command, state).run();
    return null;
  } catch (error) {
    return error instanceof Refusal ? error.message : `it can't be checked: ${String(error)}`;
  }
}

/** Returns the reason why a file must not be written, or null if it may be written. */
export const writeRefusal = (path: string, { cwd }: Directories): string | null =>
  isProtected(absolute(path, cwd)) ? `it writes to ${path}` : null;

const shell = /^(?:ba|da|z|k|mk|a)?sh$/;
const interpreter = /^(?:python[\d.]*|perl|ruby|node|nodejs|deno|bun|php|lua)$/;
const download = /(?:^|[\s/;&|(`"'])(?:curl|wget|fetch|aria2c|axel|https?|xh)(?:\s|$)/;
const inputPath = /^(?:-|\/dev\/stdin|\/dev\/fd\/.*|\/proc\/self\/fd\/.*)$/;
// The check relies on the behavior of these programs.
const reliedOn = /^(?:cd|pushd|popd|mktemp)$/;

type State = {
  home: string;
  cwds: Set<string>;
  /** Whether the standard input comes from another command. */
  isFed: boolean;
  /** The steps that are left, which limit the work for nested loops and scripts. */
  steps: { left: number };
};

/** The check of one script. */
class Check implements Effects {
  readonly #text: string;
  readonly #script: SyntaxNode;
  readonly #state: State;
  readonly #names: ReadonlyMap<string, number>;
  readonly #later: (() => void)[] = [];
  #variables: Map<string, Field>;
  #isFed: boolean;
  #documents: Field[] = [];
  #isRepeated = false;

  constructor(
    text: string,
    state: State,
    given: Variables = new Map([["HOME", literal(state.home)]]),
  ) {
    this.#text = text;
    this.#script = parse(text);
    this.#state = state;
    this.#isFed = state.isFed;
    this.#names = namesIn(this.#script);
    this.#variables = new Map([...given].filter(([name]) => !this.#isReassigned(name, 0)));
  }

  run(): void {
    this.#visit(this.#script);
    for (const again of this.#later) again();
  }

  /** @see G3. `eval` and IFS change variables in ways that the check does not follow. */
  #isReassigned(name: string, times: number): boolean {
    const isHidden = this.#names.has("eval") || this.#names.has("IFS");
    return isHidden || (this.#names.get(name) ?? 0) > times;
  }

  #expand = (word: Parameters<typeof expand>[0]): Field => expand(word, this.#variables);

  #visit = (node: SyntaxNode): void => {
    switch (node.type) {
      case "Script":
        if (node.errors?.[0]) refuse(`it can't be parsed: ${node.errors[0].message}`);
        return this.#scoped(() => this.#children(node));
      case "CompoundList":
        return this.#scoped(() => this.#children(node));
      case "Statement":
        return node.background ? this.#scoped(() => this.#children(node)) : this.#children(node);
      case "AndOr": {
        const [first, ...others] = node.commands;
        if (first) this.#visit(first);
        return this.#scoped(() => others.forEach(this.#visit));
      }
      case "Pipeline":
        return this.#scoped(() =>
          node.commands.forEach((command, at) =>
            this.#withInput(this.#isFed || at > 0, () => this.#visit(command)),
          ),
        );
      case "Redirected":
        return this.#withInput(this.#input(node.redirects), () => this.#children(node));
      case "Redirect":
        if (node.target && node.operator.includes(">")) this.write(this.#expand(node.target));
        return this.#children(node);
      case "Function":
        if (reliedOn.test(node.name.text)) refuse(`it redefines ${node.name.text}`);
        return this.#repeat(() => this.#withInput(true, () => this.#children(node)), true);
      case "While":
      case "ArithmeticFor":
      case "Select":
        return this.#repeat(() => this.#children(node));
      case "For":
        return this.#for(node);
      case "Command":
        return this.#command(node);
      default:
        return this.#children(node);
    }
  };

  #children(node: SyntaxNode): void {
    forEachChild(node, this.#visit);
  }

  #step(): void {
    if (--this.#state.steps.left < 0) refuse("it is too long to check");
  }

  /** Runs `act` and forgets the assignments in it: the commands may be skipped, or run in another process. */
  #scoped(act: () => void): void {
    const variables = new Map(this.#variables);
    act();
    this.#variables = variables;
  }

  #withInput(isFed: boolean, act: () => void): void {
    const before = this.#isFed;
    this.#isFed = isFed;
    act();
    this.#isFed = before;
  }

  /** @see G5 */
  #repeat(act: () => void, isCalled = false): void {
    this.#step();
    const before = this.#isRepeated;
    this.#isRepeated = true;
    for (let times = 0; times < 2; times += 1) this.#scoped(act);
    this.#isRepeated = before;
    const known = this.#variables;
    if (isCalled)
      this.#later.push(() => {
        this.#variables = known;
        this.#scoped(act);
      });
  }

  #for(node: Extract<SyntaxNode, { type: "For" }>): void {
    node.wordlist?.forEach(this.#visit);
    const name = node.name.text;
    const values = node.wordlist?.map(this.#expand) ?? [];
    const isKnown = values.length > 0 && !this.#isReassigned(name, 1);
    this.#repeat(() => {
      for (const value of isKnown ? values : [null])
        this.#scoped(() => {
          if (value) this.#variables.set(name, value);
          this.#visit(node.body);
        });
    });
  }

  /** Tells whether a command's input is redirected. Checks the here-documents in it. */
  #input(redirects: readonly Redirection[]): boolean {
    let isFed = this.#isFed;
    this.#documents = [];
    for (const redirect of redirects) {
      if (redirect.type === "HereDoc") {
        this.#documents.push(expand(redirect.body, this.#variables, true));
      } else if (redirect.type === "HereString") {
        const field = redirect.target && this.#expand(redirect.target);
        if (field) this.#documents.push({ ...field, text: `${field.text}\n` });
      } else if (redirect.operator.startsWith("<") && redirect.target) {
        const field = this.#expand(redirect.target);
        isFed = redirect.operator === "<&" || isUnknown(field) || inputPath.test(field.text);
      }
    }
    return isFed || this.#documents.length > 0;
  }

  #command(node: Extract<SyntaxNode, { type: "Command" }>): void {
    this.#step();
    this.#children(node);
    const assigned = [...node.prefix, ...node.args].filter((one) => one.type === "Assignment");
    for (const { name } of assigned) checkAssignment(`${name}=`);
    const words = [node.name, ...node.args].flatMap((one) => {
      if (one?.type !== "Assignment") return one ? this.#expand(one) : [];
      const value = one.value.type === "Word" ? this.#expand(one.value) : literal(unknown);
      return { ...value, text: `${one.name}=${value.text}` };
    });
    this.#withInput(this.#input(node.redirects), () => this.execute(words));
    if (node.name && !/^(?:export|local|readonly)$/.test(node.name.text)) return;
    for (const { append, index, name, value } of assigned) {
      if (append || index || value.type !== "Word" || this.#isReassigned(name, 1)) continue;
      this.#variables.set(name, this.#expand(value));
    }
  }

  execute = ([program, ...rest]: readonly Field[]): void => {
    if (!program) return;
    const name = nameOf(program);
    if (program.splits || name.includes(unknown)) refuseUnknown(program);
    if (/\s/.test(name)) return this.script(program);
    if (shell.test(name)) {
      const { kind, at } = scriptOf(rest);
      return kind === "text" && at ? this.script(at) : this.#file(at);
    }
    if (interpreter.test(name)) {
      const readsInput = rest.every(({ text }) => text.startsWith("-") || inputPath.test(text));
      if (!download.test(this.#text)) return;
      if ((readsInput && this.#isFed) || rest.some(isUnknown))
        refuse(`${name} may execute what it downloads`);
      return;
    }
    if (name === "eval") return this.#inline(rest);
    if (name === "trap") return this.#inline(rest.slice(0, 1), true);
    if (name === "alias")
      return rest.forEach((field) => {
        const [key = "", ...value] = field.text.split("=");
        if (reliedOn.test(key)) refuse(`it redefines ${key}`);
        this.#inline([{ ...field, text: value.join("=") }], true);
      });
    if (name === "source" || name === ".") return this.#file(rest[0]);
    if (name === "cd" || name === "pushd")
      return this.enter(rest.find(({ text }) => !/^[-+]/.test(text)) ?? literal(this.#state.home));
    checkProgram(name, rest, this);
  };

  /** Checks a script in a file, or from the standard input. */
  #file(path: Field | undefined): void {
    if (path && !inputPath.test(path.text)) {
      if (path.splits || path.text === unknown) refuseUnknown(path);
    } else if (this.#isFed) {
      if (this.#documents.length === 0)
        refuse("a shell executes its input, which is not known here");
      this.#documents.forEach(this.script);
    }
  }

  script = (text: Field): void => {
    if (isUnknown(text)) refuseUnknown(text);
    const cwds = new Set(this.#state.cwds);
    new Check(text.text, { ...this.#state, cwds, isFed: this.#isFed }).run();
  };

  /** Checks a script that the current shell executes, immediately or later. */
  #inline(fields: readonly Field[], isLater = false): void {
    fields.filter(isUnknown).forEach(refuseUnknown);
    const text = fields.map((field) => field.text).join(" ");
    const known = new Map(this.#variables);
    const state = { ...this.#state, isFed: isLater || this.#isFed };
    const act = () => new Check(text, state, known).run();
    act();
    if (isLater) this.#later.push(act);
  }

  /** @see G4 */
  enter = (folder: Field): void => {
    const { cwds } = this.#state;
    const isAnywhere = isUnknown(folder) || (this.#isRepeated && !folder.text.startsWith("/"));
    for (const cwd of [...cwds]) {
      if (isAnywhere) cwds.add(absolute(unknown, cwd));
      if (!isUnknown(folder)) cwds.add(absolute(folder.text, cwd));
    }
    if (cwds.size > 100) refuse("it changes the directory too often");
  };

  remove = (path: Field): void => {
    if (path.splits) refuseUnknown(path);
    for (const cwd of this.#state.cwds) {
      const whole = absolute(path.text, cwd);
      if (!maybeSystemRoot(whole, this.#state.home)) continue;
      if (whole.includes(unknown)) refuseUnknown(path);
      refuse(`it removes ${shown(path.source)} and all below it`);
    }
  };

  write = (path: Field): void => {
    const places = [...this.#state.cwds].map((cwd) => absolute(path.text, cwd));
    const isAnywhere = path.splits || path.text.startsWith(unknown);
    if (places.some(isProtected) || (isAnywhere && namesProtected(this.#text)))
      refuse(`it writes to ${shown(path.source)}`);
  };
}
