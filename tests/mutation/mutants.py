"""The mutants of `domain` and `engine`: one small change each, made by Cosmic Ray's operators.

Only function bodies are mutated. A constant is a choice, and tests refer to it by name."""

import ast
import difflib
import gc
import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import CodeType, FunctionType

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.operator import Operator
from cosmic_ray.plugins import get_operator

PACKAGES = (Path("src/holdfast/domain"), Path("src/holdfast/engine"))
ROOTS = tuple(str(package.absolute()) for package in PACKAGES)

# The file of a function and its first line.
Place = tuple[str, int]

# Only the nearest wrong operator at each place. Cosmic Ray has eleven others for every `+`, nearly
# all of which fail at once, so a sample of them would say little about the tests.
OPERATORS = (
    "AddNot",
    "ExceptionReplacer",
    "NumberReplacer",
    "ReplaceAndWithOr",
    "ReplaceBinaryOperator_Add_Sub",
    "ReplaceBinaryOperator_BitAnd_BitOr",
    "ReplaceBinaryOperator_BitOr_BitAnd",
    "ReplaceBinaryOperator_FloorDiv_Mul",
    "ReplaceBinaryOperator_Mod_Mul",
    "ReplaceBinaryOperator_Mul_FloorDiv",
    "ReplaceBinaryOperator_Sub_Add",
    "ReplaceBreakWithContinue",
    "ReplaceComparisonOperator_Eq_NotEq",
    "ReplaceComparisonOperator_GtE_Gt",
    "ReplaceComparisonOperator_Gt_GtE",
    "ReplaceComparisonOperator_IsNot_Is",
    "ReplaceComparisonOperator_Is_IsNot",
    "ReplaceComparisonOperator_LtE_Lt",
    "ReplaceComparisonOperator_Lt_LtE",
    "ReplaceComparisonOperator_NotEq_Eq",
    "ReplaceContinueWithBreak",
    "ReplaceFalseWithTrue",
    "ReplaceOrWithAnd",
    "ReplaceTrueWithFalse",
    "ReplaceUnaryOperator_Delete_Not",
    "ReplaceUnaryOperator_USub_UAdd",
    "ZeroIterationForLoop",
)


@dataclass(frozen=True, order=True, slots=True)
class Mutant:
    path: Path
    line: int
    column: int
    operator: str
    occurrence: int

    @property
    def where(self) -> str:
        return f"{self.path}:{self.line}"

    def function(self) -> CodeType | None:
        """The outermost function around the change, with the change in it; None if it would not
        compile."""
        try:
            module = compile(self._source(), str(self.path.absolute()), "exec", dont_inherit=True)
        except SyntaxError:
            return None
        begun = (code for code in _functions(module) if code.co_firstlineno <= self.line)
        return max(begun, key=lambda code: code.co_firstlineno)

    def diff(self) -> str:
        before, after = self.path.read_text().splitlines(), self._source().splitlines()
        lines = list(difflib.unified_diff(before, after, n=0, lineterm=""))[3:]
        return "\n".join(f"    {line}" for line in lines)

    def _source(self) -> str:
        source = mutate_code(self.path.read_text(), _operator(self.operator), self.occurrence)
        assert isinstance(source, str)
        return source


def sample(seed: int) -> list[Mutant]:
    """All mutants, in the order drawn by this seed."""
    mutants = [
        mutant
        for package in PACKAGES
        for path in package.rglob("*.py")
        for mutant in mutants_of(path)
    ]
    mutants.sort()
    random.Random(seed).shuffle(mutants)
    return mutants


def mutants_of(path: Path) -> Iterator[Mutant]:
    source = path.read_text()
    bodies = list(_function_bodies(ast.parse(source)))
    nodes = list(ast_nodes(get_ast(source)))
    for name in OPERATORS:
        operator = _operator(name)
        positions = (place for node in nodes for place in operator.mutation_positions(node))
        for occurrence, ((line, column), _) in enumerate(positions):
            if any(line in body for body in bodies):
                yield Mutant(path, line, column, name, occurrence)


def live_functions() -> dict[Place, list[FunctionType]]:
    """All functions that can be mutated, as they are in memory: new code in one of them is run by
    everything that refers to it."""
    found: dict[Place, list[FunctionType]] = defaultdict(list)
    for thing in gc.get_objects():
        if type(thing) is FunctionType and thing.__code__.co_filename.startswith(ROOTS):
            found[place_of(thing.__code__)].append(thing)
    return found


def place_of(code: CodeType) -> Place:
    return code.co_filename, code.co_firstlineno


def _functions(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            is_function = constant.co_flags & CO_OPTIMIZED
            yield from (constant,) if is_function else _functions(constant)


def _function_bodies(tree: ast.AST) -> Iterator[range]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            yield range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1)


def _operator(name: str) -> Operator:
    return get_operator(f"core/{name}")()
