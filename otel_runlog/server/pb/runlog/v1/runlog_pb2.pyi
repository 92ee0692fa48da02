from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RunStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RUN_STATUS_UNSPECIFIED: _ClassVar[RunStatus]
    RUN_STATUS_RUNNING: _ClassVar[RunStatus]
    RUN_STATUS_COMPLETED: _ClassVar[RunStatus]
    RUN_STATUS_FAILED: _ClassVar[RunStatus]
    RUN_STATUS_CANCELLED: _ClassVar[RunStatus]
    RUN_STATUS_INCOMPLETE: _ClassVar[RunStatus]

class StepStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    STEP_STATUS_UNSPECIFIED: _ClassVar[StepStatus]
    STEP_STATUS_RUNNING: _ClassVar[StepStatus]
    STEP_STATUS_COMPLETED: _ClassVar[StepStatus]
    STEP_STATUS_FAILED: _ClassVar[StepStatus]
    STEP_STATUS_CANCELLED: _ClassVar[StepStatus]

class StepKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    STEP_KIND_UNSPECIFIED: _ClassVar[StepKind]
    STEP_KIND_LLM: _ClassVar[StepKind]
    STEP_KIND_EMBEDDING: _ClassVar[StepKind]
    STEP_KIND_TOOL: _ClassVar[StepKind]
    STEP_KIND_AGENT: _ClassVar[StepKind]
    STEP_KIND_WORKFLOW: _ClassVar[StepKind]
    STEP_KIND_CHAIN: _ClassVar[StepKind]
    STEP_KIND_RETRIEVER: _ClassVar[StepKind]
    STEP_KIND_RERANKER: _ClassVar[StepKind]
    STEP_KIND_GUARDRAIL: _ClassVar[StepKind]
    STEP_KIND_EVALUATOR: _ClassVar[StepKind]
    STEP_KIND_SUMMARY: _ClassVar[StepKind]
    STEP_KIND_OTHER: _ClassVar[StepKind]

class UsageSource(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    USAGE_SOURCE_UNSPECIFIED: _ClassVar[UsageSource]
    USAGE_SOURCE_SPAN: _ClassVar[UsageSource]
    USAGE_SOURCE_LOG: _ClassVar[UsageSource]
    USAGE_SOURCE_ROLLUP: _ClassVar[UsageSource]
    USAGE_SOURCE_NONE: _ClassVar[UsageSource]

class CostStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    COST_STATUS_UNSPECIFIED: _ClassVar[CostStatus]
    COST_STATUS_REPORTED: _ClassVar[CostStatus]
    COST_STATUS_ESTIMATED: _ClassVar[CostStatus]
    COST_STATUS_UNPRICED: _ClassVar[CostStatus]
    COST_STATUS_NONE: _ClassVar[CostStatus]
    COST_STATUS_PARTIAL: _ClassVar[CostStatus]
    COST_STATUS_MIXED: _ClassVar[CostStatus]
    COST_STATUS_REPLAYED: _ClassVar[CostStatus]

class Content(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CONTENT_UNSPECIFIED: _ClassVar[Content]
    CONTENT_FULL: _ClassVar[Content]
    CONTENT_ANSWER: _ClassVar[Content]
    CONTENT_TRUNCATED: _ClassVar[Content]
    CONTENT_NONE: _ClassVar[Content]
RUN_STATUS_UNSPECIFIED: RunStatus
RUN_STATUS_RUNNING: RunStatus
RUN_STATUS_COMPLETED: RunStatus
RUN_STATUS_FAILED: RunStatus
RUN_STATUS_CANCELLED: RunStatus
RUN_STATUS_INCOMPLETE: RunStatus
STEP_STATUS_UNSPECIFIED: StepStatus
STEP_STATUS_RUNNING: StepStatus
STEP_STATUS_COMPLETED: StepStatus
STEP_STATUS_FAILED: StepStatus
STEP_STATUS_CANCELLED: StepStatus
STEP_KIND_UNSPECIFIED: StepKind
STEP_KIND_LLM: StepKind
STEP_KIND_EMBEDDING: StepKind
STEP_KIND_TOOL: StepKind
STEP_KIND_AGENT: StepKind
STEP_KIND_WORKFLOW: StepKind
STEP_KIND_CHAIN: StepKind
STEP_KIND_RETRIEVER: StepKind
STEP_KIND_RERANKER: StepKind
STEP_KIND_GUARDRAIL: StepKind
STEP_KIND_EVALUATOR: StepKind
STEP_KIND_SUMMARY: StepKind
STEP_KIND_OTHER: StepKind
USAGE_SOURCE_UNSPECIFIED: UsageSource
USAGE_SOURCE_SPAN: UsageSource
USAGE_SOURCE_LOG: UsageSource
USAGE_SOURCE_ROLLUP: UsageSource
USAGE_SOURCE_NONE: UsageSource
COST_STATUS_UNSPECIFIED: CostStatus
COST_STATUS_REPORTED: CostStatus
COST_STATUS_ESTIMATED: CostStatus
COST_STATUS_UNPRICED: CostStatus
COST_STATUS_NONE: CostStatus
COST_STATUS_PARTIAL: CostStatus
COST_STATUS_MIXED: CostStatus
COST_STATUS_REPLAYED: CostStatus
CONTENT_UNSPECIFIED: Content
CONTENT_FULL: Content
CONTENT_ANSWER: Content
CONTENT_TRUNCATED: Content
CONTENT_NONE: Content

class Value(_message.Message):
    __slots__ = ("bool_value", "int_value", "double_value", "string_value", "bytes_value", "list_value", "map_value", "big_int_value")
    BOOL_VALUE_FIELD_NUMBER: _ClassVar[int]
    INT_VALUE_FIELD_NUMBER: _ClassVar[int]
    DOUBLE_VALUE_FIELD_NUMBER: _ClassVar[int]
    STRING_VALUE_FIELD_NUMBER: _ClassVar[int]
    BYTES_VALUE_FIELD_NUMBER: _ClassVar[int]
    LIST_VALUE_FIELD_NUMBER: _ClassVar[int]
    MAP_VALUE_FIELD_NUMBER: _ClassVar[int]
    BIG_INT_VALUE_FIELD_NUMBER: _ClassVar[int]
    bool_value: bool
    int_value: int
    double_value: float
    string_value: str
    bytes_value: bytes
    list_value: Values
    map_value: Attributes
    big_int_value: str
    def __init__(self, bool_value: bool = ..., int_value: _Optional[int] = ..., double_value: _Optional[float] = ..., string_value: _Optional[str] = ..., bytes_value: _Optional[bytes] = ..., list_value: _Optional[_Union[Values, _Mapping]] = ..., map_value: _Optional[_Union[Attributes, _Mapping]] = ..., big_int_value: _Optional[str] = ...) -> None: ...

class Values(_message.Message):
    __slots__ = ("values",)
    VALUES_FIELD_NUMBER: _ClassVar[int]
    values: _containers.RepeatedCompositeFieldContainer[Value]
    def __init__(self, values: _Optional[_Iterable[_Union[Value, _Mapping]]] = ...) -> None: ...

class Attributes(_message.Message):
    __slots__ = ("values",)
    class ValuesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: Value
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[Value, _Mapping]] = ...) -> None: ...
    VALUES_FIELD_NUMBER: _ClassVar[int]
    values: _containers.MessageMap[str, Value]
    def __init__(self, values: _Optional[_Mapping[str, Value]] = ...) -> None: ...

class Usage(_message.Message):
    __slots__ = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens", "cache_write_5m_tokens", "cache_write_1h_tokens")
    INPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    CACHE_READ_TOKENS_FIELD_NUMBER: _ClassVar[int]
    CACHE_WRITE_TOKENS_FIELD_NUMBER: _ClassVar[int]
    REASONING_TOKENS_FIELD_NUMBER: _ClassVar[int]
    CACHE_WRITE_5M_TOKENS_FIELD_NUMBER: _ClassVar[int]
    CACHE_WRITE_1H_TOKENS_FIELD_NUMBER: _ClassVar[int]
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    reasoning_tokens: int
    cache_write_5m_tokens: int
    cache_write_1h_tokens: int
    def __init__(self, input_tokens: _Optional[int] = ..., output_tokens: _Optional[int] = ..., cache_read_tokens: _Optional[int] = ..., cache_write_tokens: _Optional[int] = ..., reasoning_tokens: _Optional[int] = ..., cache_write_5m_tokens: _Optional[int] = ..., cache_write_1h_tokens: _Optional[int] = ...) -> None: ...

class Cost(_message.Message):
    __slots__ = ("usd", "status", "table", "version", "reported_usd", "estimated_usd")
    USD_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    TABLE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    REPORTED_USD_FIELD_NUMBER: _ClassVar[int]
    ESTIMATED_USD_FIELD_NUMBER: _ClassVar[int]
    usd: str
    status: CostStatus
    table: str
    version: str
    reported_usd: str
    estimated_usd: str
    def __init__(self, usd: _Optional[str] = ..., status: _Optional[_Union[CostStatus, str]] = ..., table: _Optional[str] = ..., version: _Optional[str] = ..., reported_usd: _Optional[str] = ..., estimated_usd: _Optional[str] = ...) -> None: ...

class Step(_message.Message):
    __slots__ = ("trace_id", "span_id", "kind", "name", "run_id", "step_index", "call_index", "parent_span_id", "agent", "provider", "model", "request_model", "response_model", "response_id", "status", "error_type", "error_message", "started_ns", "ended_ns", "time_to_first_token_ms", "streaming", "usage", "usage_source", "cost", "service_tier", "counted", "duplicate_of", "tool_name", "tool_call_id", "finish_reason", "params", "convention", "scope", "content", "warnings", "notes")
    TRACE_ID_FIELD_NUMBER: _ClassVar[int]
    SPAN_ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    STEP_INDEX_FIELD_NUMBER: _ClassVar[int]
    CALL_INDEX_FIELD_NUMBER: _ClassVar[int]
    PARENT_SPAN_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    REQUEST_MODEL_FIELD_NUMBER: _ClassVar[int]
    RESPONSE_MODEL_FIELD_NUMBER: _ClassVar[int]
    RESPONSE_ID_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    ERROR_TYPE_FIELD_NUMBER: _ClassVar[int]
    ERROR_MESSAGE_FIELD_NUMBER: _ClassVar[int]
    STARTED_NS_FIELD_NUMBER: _ClassVar[int]
    ENDED_NS_FIELD_NUMBER: _ClassVar[int]
    TIME_TO_FIRST_TOKEN_MS_FIELD_NUMBER: _ClassVar[int]
    STREAMING_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    USAGE_SOURCE_FIELD_NUMBER: _ClassVar[int]
    COST_FIELD_NUMBER: _ClassVar[int]
    SERVICE_TIER_FIELD_NUMBER: _ClassVar[int]
    COUNTED_FIELD_NUMBER: _ClassVar[int]
    DUPLICATE_OF_FIELD_NUMBER: _ClassVar[int]
    TOOL_NAME_FIELD_NUMBER: _ClassVar[int]
    TOOL_CALL_ID_FIELD_NUMBER: _ClassVar[int]
    FINISH_REASON_FIELD_NUMBER: _ClassVar[int]
    PARAMS_FIELD_NUMBER: _ClassVar[int]
    CONVENTION_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    NOTES_FIELD_NUMBER: _ClassVar[int]
    trace_id: str
    span_id: str
    kind: StepKind
    name: str
    run_id: str
    step_index: int
    call_index: int
    parent_span_id: str
    agent: str
    provider: str
    model: str
    request_model: str
    response_model: str
    response_id: str
    status: StepStatus
    error_type: str
    error_message: str
    started_ns: int
    ended_ns: int
    time_to_first_token_ms: float
    streaming: bool
    usage: Usage
    usage_source: UsageSource
    cost: Cost
    service_tier: str
    counted: bool
    duplicate_of: str
    tool_name: str
    tool_call_id: str
    finish_reason: str
    params: Attributes
    convention: str
    scope: str
    content: Content
    warnings: _containers.RepeatedScalarFieldContainer[str]
    notes: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, trace_id: _Optional[str] = ..., span_id: _Optional[str] = ..., kind: _Optional[_Union[StepKind, str]] = ..., name: _Optional[str] = ..., run_id: _Optional[str] = ..., step_index: _Optional[int] = ..., call_index: _Optional[int] = ..., parent_span_id: _Optional[str] = ..., agent: _Optional[str] = ..., provider: _Optional[str] = ..., model: _Optional[str] = ..., request_model: _Optional[str] = ..., response_model: _Optional[str] = ..., response_id: _Optional[str] = ..., status: _Optional[_Union[StepStatus, str]] = ..., error_type: _Optional[str] = ..., error_message: _Optional[str] = ..., started_ns: _Optional[int] = ..., ended_ns: _Optional[int] = ..., time_to_first_token_ms: _Optional[float] = ..., streaming: bool = ..., usage: _Optional[_Union[Usage, _Mapping]] = ..., usage_source: _Optional[_Union[UsageSource, str]] = ..., cost: _Optional[_Union[Cost, _Mapping]] = ..., service_tier: _Optional[str] = ..., counted: bool = ..., duplicate_of: _Optional[str] = ..., tool_name: _Optional[str] = ..., tool_call_id: _Optional[str] = ..., finish_reason: _Optional[str] = ..., params: _Optional[_Union[Attributes, _Mapping]] = ..., convention: _Optional[str] = ..., scope: _Optional[str] = ..., content: _Optional[_Union[Content, str]] = ..., warnings: _Optional[_Iterable[str]] = ..., notes: _Optional[_Iterable[str]] = ...) -> None: ...

class AgentUsage(_message.Message):
    __slots__ = ("agent", "parent_agent", "depth", "calls", "own", "own_cost_usd", "inclusive", "inclusive_cost_usd")
    AGENT_FIELD_NUMBER: _ClassVar[int]
    PARENT_AGENT_FIELD_NUMBER: _ClassVar[int]
    DEPTH_FIELD_NUMBER: _ClassVar[int]
    CALLS_FIELD_NUMBER: _ClassVar[int]
    OWN_FIELD_NUMBER: _ClassVar[int]
    OWN_COST_USD_FIELD_NUMBER: _ClassVar[int]
    INCLUSIVE_FIELD_NUMBER: _ClassVar[int]
    INCLUSIVE_COST_USD_FIELD_NUMBER: _ClassVar[int]
    agent: str
    parent_agent: str
    depth: int
    calls: int
    own: Usage
    own_cost_usd: str
    inclusive: Usage
    inclusive_cost_usd: str
    def __init__(self, agent: _Optional[str] = ..., parent_agent: _Optional[str] = ..., depth: _Optional[int] = ..., calls: _Optional[int] = ..., own: _Optional[_Union[Usage, _Mapping]] = ..., own_cost_usd: _Optional[str] = ..., inclusive: _Optional[_Union[Usage, _Mapping]] = ..., inclusive_cost_usd: _Optional[str] = ...) -> None: ...

class RunLog(_message.Message):
    __slots__ = ("run_id", "agent", "started_at", "finished_at", "status", "steps", "tokens", "cost_estimate", "session_id", "native_run_id", "trace_id", "root_span_id", "user_id", "service", "service_version", "environment", "status_message", "step_count", "llm_calls", "tool_calls", "error_count", "usage_missing_calls", "unpriced_calls", "unpriced_models", "models", "tags", "labels", "attributes", "complete", "warnings", "notes", "agents", "launch_id", "replay_of", "fork_of", "fork_at")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    STARTED_AT_FIELD_NUMBER: _ClassVar[int]
    FINISHED_AT_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    COST_ESTIMATE_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    NATIVE_RUN_ID_FIELD_NUMBER: _ClassVar[int]
    TRACE_ID_FIELD_NUMBER: _ClassVar[int]
    ROOT_SPAN_ID_FIELD_NUMBER: _ClassVar[int]
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    SERVICE_FIELD_NUMBER: _ClassVar[int]
    SERVICE_VERSION_FIELD_NUMBER: _ClassVar[int]
    ENVIRONMENT_FIELD_NUMBER: _ClassVar[int]
    STATUS_MESSAGE_FIELD_NUMBER: _ClassVar[int]
    STEP_COUNT_FIELD_NUMBER: _ClassVar[int]
    LLM_CALLS_FIELD_NUMBER: _ClassVar[int]
    TOOL_CALLS_FIELD_NUMBER: _ClassVar[int]
    ERROR_COUNT_FIELD_NUMBER: _ClassVar[int]
    USAGE_MISSING_CALLS_FIELD_NUMBER: _ClassVar[int]
    UNPRICED_CALLS_FIELD_NUMBER: _ClassVar[int]
    UNPRICED_MODELS_FIELD_NUMBER: _ClassVar[int]
    MODELS_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    COMPLETE_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    NOTES_FIELD_NUMBER: _ClassVar[int]
    AGENTS_FIELD_NUMBER: _ClassVar[int]
    LAUNCH_ID_FIELD_NUMBER: _ClassVar[int]
    REPLAY_OF_FIELD_NUMBER: _ClassVar[int]
    FORK_OF_FIELD_NUMBER: _ClassVar[int]
    FORK_AT_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    agent: str
    started_at: _timestamp_pb2.Timestamp
    finished_at: _timestamp_pb2.Timestamp
    status: RunStatus
    steps: _containers.RepeatedCompositeFieldContainer[Step]
    tokens: Usage
    cost_estimate: Cost
    session_id: str
    native_run_id: str
    trace_id: str
    root_span_id: str
    user_id: str
    service: str
    service_version: str
    environment: str
    status_message: str
    step_count: int
    llm_calls: int
    tool_calls: int
    error_count: int
    usage_missing_calls: int
    unpriced_calls: int
    unpriced_models: _containers.RepeatedScalarFieldContainer[str]
    models: _containers.RepeatedScalarFieldContainer[str]
    tags: _containers.RepeatedScalarFieldContainer[str]
    labels: _containers.ScalarMap[str, str]
    attributes: Attributes
    complete: bool
    warnings: _containers.RepeatedScalarFieldContainer[str]
    notes: _containers.RepeatedScalarFieldContainer[str]
    agents: _containers.RepeatedCompositeFieldContainer[AgentUsage]
    launch_id: str
    replay_of: str
    fork_of: str
    fork_at: int
    def __init__(self, run_id: _Optional[str] = ..., agent: _Optional[str] = ..., started_at: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., finished_at: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., status: _Optional[_Union[RunStatus, str]] = ..., steps: _Optional[_Iterable[_Union[Step, _Mapping]]] = ..., tokens: _Optional[_Union[Usage, _Mapping]] = ..., cost_estimate: _Optional[_Union[Cost, _Mapping]] = ..., session_id: _Optional[str] = ..., native_run_id: _Optional[str] = ..., trace_id: _Optional[str] = ..., root_span_id: _Optional[str] = ..., user_id: _Optional[str] = ..., service: _Optional[str] = ..., service_version: _Optional[str] = ..., environment: _Optional[str] = ..., status_message: _Optional[str] = ..., step_count: _Optional[int] = ..., llm_calls: _Optional[int] = ..., tool_calls: _Optional[int] = ..., error_count: _Optional[int] = ..., usage_missing_calls: _Optional[int] = ..., unpriced_calls: _Optional[int] = ..., unpriced_models: _Optional[_Iterable[str]] = ..., models: _Optional[_Iterable[str]] = ..., tags: _Optional[_Iterable[str]] = ..., labels: _Optional[_Mapping[str, str]] = ..., attributes: _Optional[_Union[Attributes, _Mapping]] = ..., complete: bool = ..., warnings: _Optional[_Iterable[str]] = ..., notes: _Optional[_Iterable[str]] = ..., agents: _Optional[_Iterable[_Union[AgentUsage, _Mapping]]] = ..., launch_id: _Optional[str] = ..., replay_of: _Optional[str] = ..., fork_of: _Optional[str] = ..., fork_at: _Optional[int] = ...) -> None: ...

class ListRunsRequest(_message.Message):
    __slots__ = ("agent", "status", "session_id", "labels", "since", "until", "limit", "offset")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    AGENT_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    agent: str
    status: str
    session_id: str
    labels: _containers.ScalarMap[str, str]
    since: _timestamp_pb2.Timestamp
    until: _timestamp_pb2.Timestamp
    limit: int
    offset: int
    def __init__(self, agent: _Optional[str] = ..., status: _Optional[str] = ..., session_id: _Optional[str] = ..., labels: _Optional[_Mapping[str, str]] = ..., since: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., until: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., limit: _Optional[int] = ..., offset: _Optional[int] = ...) -> None: ...

class ListRunsResponse(_message.Message):
    __slots__ = ("runs",)
    RUNS_FIELD_NUMBER: _ClassVar[int]
    runs: _containers.RepeatedCompositeFieldContainer[RunLog]
    def __init__(self, runs: _Optional[_Iterable[_Union[RunLog, _Mapping]]] = ...) -> None: ...

class GetRunRequest(_message.Message):
    __slots__ = ("run_id",)
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    def __init__(self, run_id: _Optional[str] = ...) -> None: ...

class GetRunResponse(_message.Message):
    __slots__ = ("run",)
    RUN_FIELD_NUMBER: _ClassVar[int]
    run: RunLog
    def __init__(self, run: _Optional[_Union[RunLog, _Mapping]] = ...) -> None: ...
