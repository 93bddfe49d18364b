import { useDocumentTitle } from "@mantine/hooks";
import { createAtom, useSelector } from "@tanstack/react-store";
import { type ComponentProps, type ReactNode, type RefObject, useEffect } from "react";

type Props = { title: ReactNode; note?: ReactNode; actions?: ReactNode; children: ReactNode };

export function Page({ title, note, actions, children }: Props) {
  return (
    <div className="mx-auto flex max-w-360 flex-col gap-4 px-5 pt-5 pb-8 max-sm:px-3 max-sm:pt-4">
      <div className="flex min-h-8 flex-wrap items-center justify-between gap-3">
        <div className="min-w-0 wrap-anywhere">
          <h1>{title}</h1>
          {note && <p className="text-muted">{note}</p>}
        </div>
        {actions && <div className="flex flex-wrap gap-2">{actions}</div>}
      </div>
      {children}
    </div>
  );
}

/** A highlighted part of a page, such as a result. */
export const Panel = (props: ComponentProps<"section">) => (
  <section {...props} className="panel flex flex-col gap-2 px-4 pt-4 pb-4 shadow-sm" />
);

/** A part of a page with a heading. */
export const Part = ({ title, children }: { title: string; children: ReactNode }) => (
  <section className="flex min-w-0 flex-col gap-2" aria-label={title}>
    <h2>{title}</h2>
    {children}
  </section>
);

/**
 * A spacer with the height of a partly rendered list. The key creates a new element for each height: Chromium sometimes
 * keeps the old height of an element, which ends the page too early.
 */
export const Spacer = ({ height }: { height: number }) => <div key={height} style={{ height }} />;

/** The number of waiting items, in the page title. */
export const waiting = createAtom(0);

export function useTitle(title: string): void {
  const count = useSelector(waiting);
  useDocumentTitle(`${count > 0 ? `(${count}) ` : ""}${title} · uncaged-workflow`);
}

export type Keys = Record<string, () => void>;

/** Handles single keys, except while typing or with an open dialog or menu. */
export function useKeys(keys: Keys): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      if (isTyping(event) || document.querySelector("[role=dialog],[role=menu]")) return;
      const act = keys[event.key];
      if (!act) return;
      // Without this, the browser would type the key into the newly focused field.
      event.preventDefault();
      act();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  });
}

/** Tells whether a key event belongs to a text field. */
export function isTyping(event: Event): boolean {
  // For an event in a shadow root, `target` is only the host of the root.
  const [target] = event.composedPath();
  if (!(target instanceof HTMLElement)) return false;
  const fields = "textarea, select, input:not([type=checkbox], [type=range])";
  return target.isContentEditable || target.matches(fields);
}

type ListKeys = {
  list: RefObject<HTMLElement | null>;
  /** Selector of the element to focus in an item. Items carry their index as `data-index`. */
  target: string;
  length: number;
  show?: (index: number) => void;
  /** Returns the index to start at while no item has the focus. */
  first?: () => number;
};

/** `j` and `k` move between items. */
export function useListKeys({ list, target, length, show, first = () => 0 }: ListKeys): void {
  const go = (by: number) => {
    const current = document.activeElement?.closest("[data-index]");
    const at = current ? Number(current.getAttribute("data-index")) + by : first();
    const index = Math.min(Math.max(at, 0), length - 1);
    show?.(index);
    requestAnimationFrame(() => {
      const item = list.current?.querySelector<HTMLElement>(`[data-index="${index}"] ${target}`);
      item?.focus({ preventScroll: show !== undefined });
    });
  };
  useKeys({ j: () => go(1), k: () => go(-1) });
}
