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
    const act = isTyping(event) ? typingKey(event) : (modifiedKey(event) ?? plainKey(event));
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  });

  /** Form fields edit the document, so undo and redo in them use its history. */
  const typingKey = (event: KeyboardEvent) => {
    const isField =
      event.target instanceof Element && event.target.closest("[data-edits-document]");
    const history = isField ? historyKey(event) : undefined;
    return history ?? (isModified(event) && event.key === "s" ? targets.save : undefined);
  };

  const historyKey = (event: KeyboardEvent) => {
    if (!isModified(event) || isReadOnly) return undefined;
    if (event.key === "y" || (event.key.toLowerCase() === "z" && event.shiftKey))
      return () => edited.redo();
    return event.key === "z" ? () => edited.undo() : undefined;
  };

  const modifiedKey = (event: KeyboardEvent) => {
    if (!isModified(event)) return undefined;
    const keys: Record<string, (() => void) | undefined> = {
      a: () => actions.selectAll(),
      d: isReadOnly ? undefined : () => actions.duplicate(),
      s: targets.save,
    };
    return historyKey(event) ?? keys[event.key];
  };

  const plainKey = (event: KeyboardEvent) => {
    if (isModified(event) || event.altKey) return undefined;
    const isOnCanvas = isCanvas(event.target);
    const view = canvas.current?.view;
    const always: Record<string, (() => void) | undefined> = {
      "+": () => view?.zoomBy(1),
      "=": () => view?.zoomBy(1),
      "-": () => view?.zoomBy(-1),
      "0": () => view?.zoomTo(1),
      "1": () => view?.fit(),
      "?": targets.help,
    };
    const editing: Record<string, () => void> = {
      a: targets.add,
      c: targets.connect,
      l: () => void actions.layOut(),
      F2: targets.edit,
      Delete: () => actions.remove(),
      Backspace: () => actions.remove(),
    };
    const onCanvas: Record<string, (() => void) | undefined> = {
      Enter: targets.open,
      Escape: () => actions.select([]),
      " ": () => {
        const id = nodeIdOf(event.target);
        if (id !== null) actions.toggle(id);
      },
      ContextMenu: targets.menu,
      F10: event.shiftKey ? targets.menu : undefined,
      ...arrows(event.shiftKey ? bigStep : step),
    };
    return (
      always[event.key] ??
      (isReadOnly ? undefined : (editing[event.key] ?? kindKey(event.key))) ??
      (isOnCanvas ? onCanvas[event.key] : undefined)
    );
  };

  /** Moves the selected nodes, or the view without a selection. */
  const arrows = (by: number): Record<string, () => void> => {
    const go = (x: number, y: number) => () => {
      const canMove = !isReadOnly && edited.kind.move && edited.state().selection.nodes.size > 0;
      if (canMove) actions.moveBy(x * by, y * by);
      else canvas.current?.view.pan(-x * by * 6, -y * by * 6);
    };
    return {
      ArrowLeft: go(-1, 0),
      ArrowRight: go(1, 0),
      ArrowUp: go(0, -1),
      ArrowDown: go(0, 1),
    };
  };

  const kindKey = (key: string) => {
    const { value, selection } = edited.state();
    const own = edited.kind.actions?.(value, [...selection.nodes]);
    const found = own?.find((one) => one.key === key);
    return found && (() => void edited.apply(found.edit));
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
