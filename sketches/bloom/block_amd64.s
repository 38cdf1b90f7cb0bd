//go:build !purego

#include "textflag.h"

DATA salts<>+0(SB)/4, $0x47b6137b
DATA salts<>+4(SB)/4, $0x44974d91
DATA salts<>+8(SB)/4, $0x8824ad5b
DATA salts<>+12(SB)/4, $0xa2b7289d
DATA salts<>+16(SB)/4, $0x705495c7
DATA salts<>+20(SB)/4, $0x2df1424b
DATA salts<>+24(SB)/4, $0x9efc4947
DATA salts<>+28(SB)/4, $0x5c6bfb31
GLOBL salts<>(SB), RODATA|NOPTR, $32

DATA one<>+0(SB)/4, $1
GLOBL one<>(SB), RODATA|NOPTR, $4

// Leaves the bits of h in Y0, the byte offset of its block in R8,
// and the words' address in DI.
#define SINGLE \
	MOVQ         words_base+0(FP), DI \
	MOVQ         words_len+8(FP), DX  \
	MOVQ         h+24(FP), R8         \
	VMOVQ        R8, X0               \
	VPBROADCASTD X0, Y0               \
	VPMULLD      salts<>(SB), Y0, Y0  \
	VPBROADCASTD one<>(SB), Y1        \
	SHRQ         $2, DX               \
	SHRQ         $32, R8              \
	IMULQ        DX, R8               \
	SHRQ         $32, R8              \
	SHLQ         $5, R8               \
	VPSRLD       $27, Y0, Y0          \
	VPSLLVD      Y0, Y1, Y0

// The functions test for AVX2 here, and not in Go, because a call of a Go
// function that only chooses costs as much as the work. Without AVX2 they jump to the plain form,
// which takes the same arguments.

// func set(words []uint64, h uint64)
TEXT ·set(SB), NOSPLIT, $0-32
	CMPB ·avx2(SB), $0
	JEQ  set_plain
	SINGLE
	VPOR    (DI)(R8*1), Y0, Y0
	VMOVDQU Y0, (DI)(R8*1)
	VZEROUPPER
	RET

set_plain:
	JMP ·setGeneric(SB)

// func test(words []uint64, h uint64) bool
TEXT ·test(SB), NOSPLIT, $0-33
	CMPB ·avx2(SB), $0
	JEQ  test_plain
	SINGLE
	VMOVDQU (DI)(R8*1), Y1
	VPTEST  Y0, Y1
	SETCS   ret+32(FP)
	VZEROUPPER
	RET

test_plain:
	JMP ·testGeneric(SB)

// func testAndSet(words []uint64, h uint64) bool
TEXT ·testAndSet(SB), NOSPLIT, $0-33
	CMPB ·avx2(SB), $0
	JEQ  both_plain
	SINGLE
	VMOVDQU (DI)(R8*1), Y1
	VPTEST  Y0, Y1
	SETCS   ret+32(FP)
	VPOR    Y0, Y1, Y1
	VMOVDQU Y1, (DI)(R8*1)
	VZEROUPPER
	RET

both_plain:
	JMP ·testAndSetGeneric(SB)
