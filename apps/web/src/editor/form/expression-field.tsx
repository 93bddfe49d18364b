import type { Completion } from "@uncaged/workflow/editing";
import { type ComponentProps, useId, useRef, useState } from "react";
import { Braces } from "lucide-react";
import { IconButton } from "../../ui/icon-button.tsx";
import { TextArea } from "../../ui/field.tsx";

type Props = Omit<ComponentProps<typeof TextArea>, "onChange" | "value"> & {
  value: string;
  onValue: (text: string) => void;
  complete: () => readonly Completion[];
};

const mostShown = 60;

/** The part of an expression before the caret that a completion replaces. */
const wordBefore = (text: string, caret: number): string =>
  /[\w$.{]*$/.exec(text.slice(0, caret))?.[0] ?? "";

type Open = { word: string; found: readonly Completion[]; at: number };

/** A text field that offers the names in scope while typing, or on Ctrl+Space. */
export function ExpressionField({ value, onValue, complete, ...rest }: Props) {
  const [open, setOpen] = useState<Open | null>(null);
  const area = useRef<HTMLTextAreaElement>(null);
  const id = useId();
  const offer = (text: string, caret: number, isAsked: boolean, isWhole = false) => {
    const word = isWhole ? "" : wordBefore(text, caret);
    const isMeant = ({ text: one }: Completion) =>
      one !== word && one.toLowerCase().startsWith(word.toLowerCase());
    const found = word === "" && !isAsked ? [] : complete().filter(isMeant).slice(0, mostShown);
    setOpen(found.length > 0 ? { word, found, at: 0 } : null);
  };
  const take = ({ text }: Completion) => {
    const caret = area.current?.selectionStart ?? value.length;
    const start = caret - (open?.word.length ?? 0);
    onValue(value.slice(0, start) + text + value.slice(caret));
    setOpen(null);
    requestAnimationFrame(() => {
      area.current?.focus();
      area.current?.setSelectionRange(start + text.length, start + text.length);
    });
  };
  const go = (by: number) =>
    open && setOpen({ ...open, at: (open.at + by + open.found.length) % open.found.length });
  const keys: Record<string, () => unknown> = {
    ArrowDown: () => go(1),
    ArrowUp: () => go(-1),
    Enter: () => open?.found[open.at] && take(open.found[open.at] as Completion),
    Tab: () => open?.found[open.at] && take(open.found[open.at] as Completion),
    Escape: () => setOpen(null),
  };
  return (
    <div className="relative">
      <TextArea
        {...rest}
        code
        ref={area}
        rows={Math.min(8, Math.max(1, value.split("\n").length))}
        value={value}
        aria-autocomplete="list"
        aria-controls={open ? id : undefined}
        aria-activedescendant={open ? `${id}-${open.at}` : undefined}
        onChange={({ target }) => {
          onValue(target.value);
          offer(target.value, target.selectionStart, false);
        }}
        onBlur={() => setOpen(null)}
        onKeyDown={(event) => {
          if (event.key === " " && event.ctrlKey) {
            event.preventDefault();
            return offer(value, event.currentTarget.selectionStart, true);
          }
          const act = open ? keys[event.key] : undefined;
          if (!act) return;
          event.preventDefault();
          event.stopPropagation();
          act();
        }}
      />
      {!rest.disabled && !rest.readOnly && (
        <IconButton
          icon={<Braces />}
          className="absolute top-0.5 right-0.5"
          label="Insert a value"
          title="Insert a value (Ctrl Space)"
          // The field keeps its focus and its caret.
          onPointerDown={(event) => event.preventDefault()}
          onClick={() => {
            const field = area.current;
            field?.focus();
            offer(value, field?.selectionStart ?? value.length, true, true);
          }}
        />
      )}
      {open && (
        <ul
          id={id}
          role="listbox"
          aria-label="Completions"
          className="absolute inset-x-0 top-full z-40 mt-0.5 max-h-40 overflow-y-auto rounded-md border bg-surface p-1 shadow-lg"
        >
          {open.found.map((one, index) => (
            <li
              key={one.text}
              id={`${id}-${index}`}
              role="option"
              aria-selected={index === open.at}
              className="flex cursor-pointer justify-between gap-2 rounded-sm px-2 py-1 aria-selected:bg-hover"
              // A click event would come after the field has lost the focus.
              onPointerDown={(event) => {
                event.preventDefault();
                take(one);
              }}
            >
              <code className="flex-none">{one.text}</code>
              <span className="min-w-0 text-right text-small text-faint">{one.detail}</span>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
