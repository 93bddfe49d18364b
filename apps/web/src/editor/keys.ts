import { type RefObject, useEffect, useEffectEvent } from "react";
import { isTyping } from "../ui/page.tsx";
import type { Actions, CanvasHandle } from "./canvas/actions.ts";
import { nodeIdOf } from "./canvas/canvas.tsx";
import type { EditedDocument } from "./document/document.ts";

/** Actions of keys that the page or editor handles instead of the document. */
export type KeyTargets = {
  add: () => void;
  connect: () => void;
  edit: () => void;
  open: () => void;
  menu: () => void;
  help: () => void;
  save?: () => void;
};

type Props = {
  document: EditedDocument;
  actions: Actions;
  canvas: RefObject<CanvasHandle | null>;
  targets: KeyTargets;
  isReadOnly: boolean;
};

/** Actions by key. */
type Keys = Readonly<Record<string, (() => void) | undefined>>;

const step = 10;
const bigStep = 50;

/** Handles all keys of an editor: keys with Ctrl, keys on the canvas, and single letters. */
export function useEditorKeys({
  document: edited,
  actions,
  canvas,
  targets,
  isReadOnly,
}: Props): void {
  const onKey = useEffectEvent((event: KeyboardEvent) => {
    if (event.defaultPrevented || isCovered()) return;
    const act = keysFor(event)[isModified(event) ? event.key.toLowerCase() : event.key];
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  });

  const keysFor = (event: KeyboardEvent): Keys => {
    const { target, shiftKey } = event;
    const saving: Keys = { s: targets.save };
    const history: Keys = {
      z: () => (shiftKey ? edited.redo() : edited.undo()),
      y: () => edited.redo(),
    };
    if (isTyping(event)) {
      if (!isModified(event)) return {};
      // Form fields edit the document, so undo and redo in them use its history.
      const isField = target instanceof Element && target.closest("[data-edits-document]");
      return isField && !isReadOnly ? { ...history, ...saving } : saving;
    }
    if (isModified(event)) {
      const editing = { ...history, d: () => actions.duplicate() };
      return { ...(!isReadOnly && editing), a: () => actions.selectAll(), ...saving };
    }
    if (event.altKey) return {};
    const view = canvas.current?.view;
    return {
      ...(isCanvas(target) && canvasKeys(target, shiftKey)),
      ...(!isReadOnly && editingKeys()),
      "+": () => view?.zoomBy(1),
      "=": () => view?.zoomBy(1),
      "-": () => view?.zoomBy(-1),
      "0": () => view?.zoomTo(1),
      "1": () => view?.fit(),
      "?": targets.help,
    };
  };

  const editingKeys = (): Keys => {
    const { value, selection } = edited.state();
    const own = edited.kind.actions?.(value, [...selection.nodes]) ?? [];
    return {
      ...Object.fromEntries(own.map(({ key = "", edit }) => [key, () => edited.apply(edit)])),
      a: targets.add,
      c: targets.connect,
      l: () => void actions.layOut(),
      F2: targets.edit,
      Delete: () => actions.remove(),
      Backspace: () => actions.remove(),
    };
  };

  const canvasKeys = (target: EventTarget | null, isFar: boolean): Keys => {
    const by = isFar ? bigStep : step;
    return {
      Enter: targets.open,
      Escape: () => actions.select([]),
      " ": () => {
        const id = nodeIdOf(target);
        if (id !== null) actions.toggle(id);
      },
      ContextMenu: targets.menu,
      F10: isFar ? targets.menu : undefined,
      ArrowLeft: () => move(-by, 0),
      ArrowRight: () => move(by, 0),
      ArrowUp: () => move(0, -by),
      ArrowDown: () => move(0, by),
    };
  };

  /** Moves the selected nodes, or the view without a selection. */
  const move = (x: number, y: number) => {
    const canMove = !isReadOnly && edited.kind.move && edited.state().selection.nodes.size > 0;
    if (canMove) actions.moveBy(x, y);
    else canvas.current?.view.pan(-x * 6, -y * 6);
  };

  useEffect(() => {
    // The capture phase runs before the page's key handlers, which use some of these keys.
    window.document.addEventListener("keydown", onKey, true);
    return () => window.document.removeEventListener("keydown", onKey, true);
  }, []);
}

/** Tells whether a dialog or menu is open. A closing dialog or menu does not count. */
const isCovered = (): boolean =>
  window.document.querySelector(":is([role=dialog],[role=menu]):not([data-closed])") !== null;

const isModified = ({ ctrlKey, metaKey }: KeyboardEvent): boolean => ctrlKey || metaKey;

const isCanvas = (target: EventTarget | null): boolean =>
  target instanceof Element &&
  (target === window.document.body ||
    target.id === "main" ||
    target.closest(".react-flow") !== null);

type ClipboardProps = Pick<Props, "actions" | "isReadOnly">;

/** Handles copy, cut and paste. Copies are JSON; pasted texts may come from any program. */
export function useClipboard({ actions, isReadOnly }: ClipboardProps): void {
  const onClipboard = useEffectEvent((event: ClipboardEvent) => {
    if (isTyping(event) || isCovered()) return;
    if (event.type === "paste") {
      if (isReadOnly) return;
      event.preventDefault();
      const [file] = event.clipboardData?.files ?? [];
      if (file) void actions.importFile(file);
      else actions.paste(event.clipboardData?.getData("text/plain") ?? "");
      return;
    }
    if (window.getSelection()?.isCollapsed === false) return;
    const text = actions.copied();
    if (text === null) return;
    event.preventDefault();
    event.clipboardData?.setData("text/plain", text);
    if (event.type === "cut" && !isReadOnly) actions.remove();
  });
  useEffect(() => {
    const types = ["copy", "cut", "paste"] as const;
    for (const type of types) window.document.addEventListener(type, onClipboard);
    return () => {
      for (const type of types) window.document.removeEventListener(type, onClipboard);
    };
  }, []);
}
