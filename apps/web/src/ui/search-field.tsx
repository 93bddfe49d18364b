import { Search } from "lucide-react";
import { useRef } from "react";
import { useKeys } from "./page.tsx";

export const box =
  "w-full min-h-8 max-md:min-h-10 rounded-md border border-line-control bg-surface placeholder:text-faint focus-visible:border-accent focus-visible:outline-offset-0 aria-invalid:border-red";

type SearchProps = {
  label: string;
  value: string;
  onChange: (text: string) => void;
  /** Called on Enter or arrow down, to move to the results. */
  onLeave?: () => void;
};

/** A field that filters a list. `/` focuses it, Escape leaves it. */
export function SearchField({ label, value, onChange, onLeave }: SearchProps) {
  const input = useRef<HTMLInputElement>(null);
  useKeys({ "/": () => input.current?.focus() });
  return (
    <div className="relative max-w-96 flex-[1_1_15rem]">
      <Search className="absolute top-1/2 left-2 -translate-y-1/2 text-faint" />
      <input
        ref={input}
        className={`peer ${box} px-8`}
        type="search"
        aria-label={label}
        placeholder={label}
        value={value}
        onChange={({ target }) => onChange(target.value)}
        onKeyDown={({ key, currentTarget }) => {
          if (key === "Escape") currentTarget.blur();
          if (key === "Enter" || key === "ArrowDown") onLeave?.();
        }}
      />
      <kbd
        aria-hidden
        className="absolute top-1/2 right-2 -translate-y-1/2 rounded-sm border border-line-strong px-1 text-small text-faint peer-focus:hidden peer-not-placeholder-shown:hidden"
      >
        /
      </kbd>
    </div>
  );
}
