/**
 * The vocabulary as a script of a shell. Sessions are asked for while completing: `holdfast __complete`.
 */
import type { FlagWord, Taken, Vocabulary } from './vocabulary.ts'

export type ShellName = 'bash' | 'zsh' | 'fish'

export function completionScript(shell: ShellName, vocabulary: readonly Vocabulary[]): string {
  return { bash: bashScript, zsh: zshScript, fish: fishScript }[shell](vocabulary)
}

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`
const words = (texts: readonly string[]) => quoted(texts.join(' '))
const names = ({ verbs }: Vocabulary) => verbs.flatMap(({ name, aliases }) => [name, ...aliases])
const flagsOf = ({ flags }: Vocabulary) => flags.flatMap(({ long, short }) => [long, ...(short === null ? [] : [short])])
const withValue = (flag: FlagWord) => flag.takesValue

/** `sessions` and its alias `session` lead to the same place. */
function aliasesOf(vocabulary: readonly Vocabulary[]): readonly (readonly [string, string])[] {
  return vocabulary.flatMap(({ path, verbs }) =>
    verbs.flatMap(({ name, aliases }) => aliases.map((alias) => [join(path, alias), join(path, name)] as const)),
  )
}

function join(path: string, name: string): string {
  return path === '' ? name : `${path} ${name}`
}

/** In bash and zsh: the words so far are the verbs in `verbs`. */
function walk(vocabulary: readonly Vocabulary[]): string {
  const steps = vocabulary.flatMap(({ path, verbs }) => verbs.map(({ name }) => join(path, name)))
  const aliases = aliasesOf(vocabulary).map(([from, to]) => `      ${quoted(from)}) verbs=${quoted(to)} ;;`)
  return [
    '    case "${verbs:+$verbs }$word" in',
    ...aliases,
    `      ${steps.map(quoted).join('|')}) verbs="\${verbs:+$verbs }$word" ;;`,
    '    esac',
  ].join('\n')
}

function bashScript(vocabulary: readonly Vocabulary[]): string {
  const places = vocabulary.map((place) => {
    const values = place.flags.filter(withValue).map((flag) => {
      const shown = [flag.long, ...(flag.short === null ? [] : [flag.short])].map(quoted).join('|')
      if (flag.asks !== null) return `        ${shown}) _holdfast_ask ${flag.asks} "$cur"; return ;;`
      return `        ${shown}) COMPREPLY=($(compgen ${flag.choices.length > 0 ? `-W ${words(flag.choices)}` : '-f'} -- "$cur")); return ;;`
    })
    const own = [...names(place), ...place.values]
    return [
      `    ${quoted(place.path)})`,
      '      case "$prev" in',
      ...values,
      '        *) ;;',
      '      esac',
      `      if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W ${words(flagsOf(place))} -- "$cur")); return; fi`,
      own.length > 0 ? `      COMPREPLY=($(compgen -W ${words(own)} -- "$cur"))` : `      ${BASH_ARGUMENT[place.takes]}`,
      '      ;;',
    ].join('\n')
  })
  return `# bash completion of holdfast; made by: holdfast completion bash
_holdfast_ask() {
  COMPREPLY=($(compgen -W "$(holdfast __complete "$1" "$prev" "$2" 2>/dev/null | cut -f1)" -- "$2"))
}
# Bash takes a colon for the end of a word, so the word is read from the line.
_holdfast_place() {
  local word=\${COMP_LINE:0:\${COMP_POINT:-0}}
  word=\${word##* }
  [[ $word == *:* ]] || return 1
  _holdfast_ask paths "$word"
  COMPREPLY=("\${COMPREPLY[@]#"\${word%:*}:"}")
  compopt -o nospace 2>/dev/null || true
}
_holdfast() {
  local cur prev word verbs='' index
  COMPREPLY=()
  cur=\${COMP_WORDS[COMP_CWORD]}
  prev=\${COMP_WORDS[COMP_CWORD-1]}
  for ((index = 1; index < COMP_CWORD; index++)); do
    word=\${COMP_WORDS[index]}
    # What follows is another program's.
    if [[ $word == -- ]]; then COMPREPLY=($(compgen -f -- "$cur")); return; fi
${walk(vocabulary)}
  done
  case "$verbs" in
${places.join('\n')}
  esac
}
complete -F _holdfast holdfast
`
}

const BASH_FILES = 'COMPREPLY=($(compgen -f -- "$cur"))'
const BASH_ARGUMENT: Readonly<Record<Taken, string>> = {
  session: '_holdfast_ask sessions "$cur"',
  process: '_holdfast_ask processes "$cur"',
  server: '_holdfast_ask servers "$cur"',
  place: '_holdfast_place || _holdfast_ask sessions "$cur"',
  copy: `_holdfast_place || ${BASH_FILES}`,
  file: BASH_FILES,
  nothing: ':',
}

function zshScript(vocabulary: readonly Vocabulary[]): string {
  const described = (texts: readonly (readonly [string, string])[]) =>
    texts.map(([name, description]) => quoted(`${name.replaceAll(':', '\\:')}:${description.replaceAll('\n', ' ')}`)).join(' ')
  const places = vocabulary.map((place) => {
    const values = place.flags.filter(withValue).map((flag) => {
      const shown = [flag.long, ...(flag.short === null ? [] : [flag.short])].map(quoted).join('|')
      if (flag.asks !== null) return `        ${shown}) _holdfast_ask ${flag.asks}; return ;;`
      return `        ${shown}) ${flag.choices.length > 0 ? `compadd -- ${flag.choices.map(quoted).join(' ')}` : '_files'}; return ;;`
    })
    const flags = place.flags.flatMap(({ long, short, description }) => [
      [long, description] as const,
      ...(short === null ? [] : [[short, description] as const]),
    ])
    const own = [
      ...place.verbs.map(({ name, description }) => [name, description] as const),
      ...place.values.map((value) => [value, ''] as const),
    ]
    return [
      `    ${quoted(place.path)})`,
      '      case "$words[CURRENT-1]" in',
      ...values,
      '        *) ;;',
      '      esac',
      `      if [[ $words[CURRENT] == -* ]]; then found=(${described(flags)}); _describe flag found; return; fi`,
      own.length > 0 ? `      found=(${described(own)}); _describe verb found` : `      ${ZSH_ARGUMENT[place.takes]}`,
      '      ;;',
    ].join('\n')
  })
  return `#compdef holdfast
# zsh completion of holdfast; made by: holdfast completion zsh
_holdfast_ask() {
  local -a lines found
  lines=("\${(@f)$(holdfast __complete "$1" "$words[CURRENT-1]" "$words[CURRENT]" 2>/dev/null)}")
  found=("\${(@)lines%%$'\\t'*}")
  compadd -- "\${(@)found:#}"
}
_holdfast_place() {
  [[ $words[CURRENT] == *:* ]] || return 1
  _holdfast_ask paths
}
_holdfast() {
  local word verbs='' index
  local -a found
  for ((index = 2; index < CURRENT; index++)); do
    word=$words[index]
    if [[ $word == -- ]]; then _files; return; fi
${walk(vocabulary)}
  done
  case "$verbs" in
${places.join('\n')}
  esac
}
if [[ $funcstack[1] == _holdfast ]]; then _holdfast "$@"; else compdef _holdfast holdfast; fi
`
}

const ZSH_ARGUMENT: Readonly<Record<Taken, string>> = {
  session: '_holdfast_ask sessions',
  process: '_holdfast_ask processes',
  server: '_holdfast_ask servers',
  place: '_holdfast_place || _holdfast_ask sessions',
  copy: '_holdfast_place || _files',
  file: '_files',
  nothing: ':',
}

const FISH_ARGUMENT: Readonly<Record<Taken, readonly string[]>> = {
  ...{ session: ['sessions'], process: ['processes'], server: ['servers'], place: ['sessions', 'paths'], copy: ['paths'] },
  ...{ file: [], nothing: [] },
}

function fishScript(vocabulary: readonly Vocabulary[]): string {
  const lines = vocabulary.flatMap((place) => {
    const here = `-n ${quoted(`test (__holdfast_verbs) = ${quoted(place.path)}`)}`
    return [
      ...place.verbs.map(({ name, description }) => `complete -c holdfast ${here} -fa ${quoted(name)} -d ${quoted(description)}`),
      ...place.flags.map(
        ({ long, short, description, takesValue, choices, asks }) =>
          `complete -c holdfast ${here} -l ${long.replace(/^--/, '')}${short === null ? '' : ` -s ${short.replace(/^-/, '')}`}` +
          `${takesValue ? ' -r' : ''}${choices.length > 0 ? ` -fa ${words(choices)}` : asks !== null ? ` -fa '(__holdfast_ask ${asks})'` : ''} -d ${quoted(description)}`,
      ),
      ...(place.values.length > 0 ? [`complete -c holdfast ${here} -fa ${words(place.values)}`] : []),
      ...FISH_ARGUMENT[place.takes].map((kind) => `complete -c holdfast ${here} -fa '(__holdfast_ask ${kind})'`),
    ]
  })
  const steps = vocabulary.flatMap(({ path, verbs }) => verbs.map(({ name }) => join(path, name)))
  const aliases = aliasesOf(vocabulary).map(([from, to]) => `      case ${quoted(from)}\n        set verbs ${quoted(to)}`)
  return `# fish completion of holdfast; made by: holdfast completion fish
function __holdfast_ask
  holdfast __complete $argv[1] (commandline -opc)[-1] (commandline -ct) 2>/dev/null
end
function __holdfast_verbs
  set -l verbs ''
  for word in (commandline -opc)[2..-1]
    test "$word" = --; and break
    set -l next (string trim "$verbs $word")
    switch "$next"
${aliases.join('\n')}
      case ${steps.map(quoted).join(' ')}
        set verbs "$next"
    end
  end
  echo "$verbs"
end
complete -c holdfast -f
${lines.join('\n')}
`
}
